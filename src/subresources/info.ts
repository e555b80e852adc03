// What the API tells about itself: version, health, and where the guestfs image is. Health asks the API server each time: it is what
// readiness means here.
import type { KubeVirt } from '../api/index.js';
import { messageOf } from '../base/errors.js';
import { type Handler, json } from '../http/index.js';
import type { KubeClient } from '../runtime/types.js';

export interface InfoDeps {
  readonly client: KubeClient;
  /** The KubeVirt CR as last seen. */
  readonly kubevirt: () => KubeVirt | undefined;
  readonly version: string;
  readonly gsImage?: string;
}

/** In the form of Kubernetes' own version document, which clients parse. */
export function versionDocument(version: string, platform: string): object {
  const [, major = '', minor = ''] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return { major, minor, gitVersion: version, gitCommit: '', gitTreeState: '', buildDate: '', goVersion: '', compiler: 'node', platform };
}

export function guestfsDocument(kubevirt: KubeVirt | undefined, gsImage: string): object {
  const { observedKubeVirtRegistry: registry = '', observedKubeVirtVersion: tag = '' } = kubevirt?.status ?? {};
  return { registry, tag, imagePrefix: '', gsImage };
}

export interface InfoHandlers {
  readonly version: Handler;
  readonly guestfs: Handler;
  readonly health: Handler;
}

export function infoHandlers({ client, kubevirt, version, gsImage = '' }: InfoDeps): InfoHandlers {
  const configVersion = (): string => kubevirt()?.metadata.resourceVersion ?? '';
  return {
    version: () => json(200, versionDocument(version, `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`)),
    guestfs: () => json(200, guestfsDocument(kubevirt(), gsImage)),
    async health() {
      try {
        const server = await client.raw('GET', '/version');
        return json(200, { apiserver: { connectivity: 'ok', version: server }, 'config-resource-version': configVersion() });
      } catch (err) {
        return json(500, { apiserver: { connectivity: 'failed', error: messageOf(err) }, 'config-resource-version': configVersion() });
      }
    },
  };
}
