// The share of a claim that its file system keeps for itself, as CDI counts it. Read before a dump is taken into a claim, and to know how far a
// disk image may grow. Pure.

/** Where nobody says otherwise. */
export const DEFAULT_FS_OVERHEAD = 0.055;

interface FilesystemOverhead {
  readonly global?: string;
  readonly storageClass?: Readonly<Record<string, string>>;
}

/** From the CDIConfig object, if the cluster has one. */
export function fsOverhead(cdiConfig: unknown, storageClass: string | undefined): number {
  const { filesystemOverhead } = (cdiConfig as { status?: { filesystemOverhead?: FilesystemOverhead } } | undefined)?.status ?? {};
  const own = storageClass === undefined ? undefined : filesystemOverhead?.storageClass?.[storageClass];
  const share = Number(own ?? filesystemOverhead?.global ?? DEFAULT_FS_OVERHEAD);
  return Number.isFinite(share) && share >= 0 ? share : DEFAULT_FS_OVERHEAD;
}
