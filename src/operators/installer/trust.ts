// Certificates, and who trusts them, whatever becomes of the rest of an installation: while it cannot be changed, or cannot be removed yet, it
// has to go on working, and it does so only as long as its certificates are good. Called where a pass ends before its own end.
import type { KubeObject } from '../../api/index.js';
import { keyOf } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import type { KubeClient } from '../../runtime/types.js';
import { Applier, type Pass } from './apply.js';
import { CertificateKeeper, type KeeperInput } from './certificates/certificate-keeper.js';
import { repair } from './diff.js';
import type { ManagedKinds } from './managed.js';
import { AUTHORITY } from './manifests/names.js';

type Client = Readonly<Record<string, unknown>> & { readonly caBundle?: string };
type Trusting = KubeObject & {
  readonly webhooks?: readonly { readonly clientConfig?: Client }[];
  readonly spec?: Client;
};

const KINDS = new Set(['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration', 'APIService']);

const trusting = <T extends Client>(client: T, caBundle: string): T => (client.caBundle === undefined ? client : { ...client, caBundle });

/** The same object with other authorities to trust, where it names some. Pure. */
export function withBundle(object: Trusting, bundle: string): Trusting {
  const caBundle = Buffer.from(bundle).toString('base64');
  const { webhooks, spec } = object;
  return {
    ...object,
    ...(webhooks
      ? { webhooks: webhooks.map((hook) => (hook.clientConfig ? { ...hook, clientConfig: trusting(hook.clientConfig, caBundle) } : hook)) }
      : {}),
    ...(spec ? { spec: trusting(spec, caBundle) } : {}),
  };
}

/** Of what is there; nothing else of it is touched. */
export async function renewTrust(client: KubeClient, kinds: ManagedKinds, bundle: string, ctx: Ctx): Promise<void> {
  for (const { resource, store } of kinds.others.filter(({ resource: { kind } }) => KINDS.has(kind))) {
    for (const object of store.list()) {
      const ops = object.metadata.deletionTimestamp ? [] : repair(object, withBundle(object, bundle));
      if (ops.length === 0) continue;
      ctx.log.info({ kind: resource.kind, object: keyOf(object) }, 'Handing on the authorities to trust');
      await client.jsonPatch(resource, keyOf(object), ops);
    }
  }
}

export interface TrustInput extends Omit<KeeperInput, 'applier'> {
  readonly client: KubeClient;
  readonly pass: Pass;
}

/** When to look again; without an installation there is nothing to keep. */
export async function keepTrust({ client, certifier, kinds, namespace, lifetimes, pass }: TrustInput, ctx: Ctx): Promise<number> {
  const { store } = kinds.of({ kind: 'Secret', metadata: {} });
  if (!store.get(`${namespace}/${AUTHORITY.main}`)) return Number.POSITIVE_INFINITY;
  const applier = new Applier({ client, kinds }, pass);
  const keeper = new CertificateKeeper({ certifier, namespace, lifetimes, kinds, applier });
  const { bundle } = await keeper.keepAll(ctx);
  await renewTrust(client, kinds, bundle, ctx);
  return keeper.nextAt;
}
