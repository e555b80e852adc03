// Discovery documents of the aggregated API: root paths, group list, group, resource lists. Pure; their exact form is what kubectl, client
// libraries and the API server's aggregator rely on.
import { GROUP, SUBRESOURCES, VERSIONS, versionPath } from './verbs.js';

/** The group's name in these documents lacks an `s`, and clients have cached it so since the first release. */
const GROUP_NAME_IN_DISCOVERY = 'subresource.kubevirt.io';

const groupVersion = (version: string): object => ({ groupVersion: `${GROUP}/${version}`, version });

export const rootPaths = (): object => ({
  paths: ['/apis', '/openapi/v2', ...VERSIONS.flatMap((v) => [`/apis/${GROUP}`, versionPath(v)])],
});

export const apiGroup = (): object => ({
  kind: 'APIGroup',
  apiVersion: 'v1',
  name: GROUP_NAME_IN_DISCOVERY,
  versions: VERSIONS.map(groupVersion),
  preferredVersion: groupVersion(VERSIONS[0]),
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '' }],
});

export const apiGroupList = (): object => ({ kind: 'APIGroupList', apiVersion: 'v1', groups: [apiGroup()] });

function listedNames(): string[] {
  const names = SUBRESOURCES.filter((row) => row.listed).map((row) => `${row.resource}/${row.name.split('/:')[0]}`);
  return ['expand-vm-spec', ...new Set(names)];
}

/** Entries carry a name and nothing else: kinds or verbs here would break kubectl's short names. */
export const apiResourceList = (version: string): object => ({
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: `${GROUP}/${version}`,
  resources: listedNames().map((name) => ({ name, singularName: '', namespaced: true, kind: '', verbs: null })),
});
