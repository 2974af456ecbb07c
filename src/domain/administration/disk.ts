/** The space on a disk that is left, and the share of it that is used. */
export interface DiskSpace {
  freeBytes: number;
  usedRatio: number;
  /** Whether it is for Postgres alone, as `POSTGRES_DISK_GB` says, and not for everything on the machine of a private Postgres. */
  isPostgresOnly: boolean;
}

const MIB = 2 ** 20;

/** Free bytes from which on the disk of a machine is low, and from which on a disk is urgent; also in `laurel doctor`. */
export const DISK_FREE_BYTES = { low: 5 * 1_024 * MIB, urgent: 512 * MIB } as const;
/** Used shares from which on a disk is nearly full. That of a disk for Postgres alone is also in the alert LaurelPostgresDiskHigh. */
const DISK_NEARLY_FULL = { postgresOnly: 0.8, machine: 0.9 } as const;

export function isNearlyFull({ freeBytes, usedRatio, isPostgresOnly }: DiskSpace): boolean {
  if (isPostgresOnly) return usedRatio > DISK_NEARLY_FULL.postgresOnly;
  const isLow = freeBytes < DISK_FREE_BYTES.low && usedRatio >= DISK_NEARLY_FULL.machine;
  return isLow || freeBytes < DISK_FREE_BYTES.urgent;
}
