import type { PoolClient } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';

export interface UserZone {
  tenantNo: number;
  /** IANA name; `''` for UTC. */
  zone: string;
  /** When the user was last changed, epoch ms. */
  atMs: number;
}

const NOTE = `
  INSERT INTO streak_zones (tenant_no, zone, swept_day)
  SELECT * FROM unnest($1::int[], $2::text[], $3::int[])
  ON CONFLICT DO NOTHING`;

/** Starts sweeping zones that are not swept yet, from the earliest day on which one of these users was changed. */
export async function noteZones(client: PoolClient, zones: readonly UserZone[]): Promise<void> {
  const distinct = new Map<number, Map<string, UserZone>>();
  for (const each of zones) {
    let ofTenant = distinct.get(each.tenantNo);
    if (ofTenant === undefined) distinct.set(each.tenantNo, (ofTenant = new Map()));
    if (each.atMs < (ofTenant.get(each.zone)?.atMs ?? Infinity)) ofTenant.set(each.zone, each);
  }
  const rows = [...distinct.values()].flatMap((ofTenant) => [...ofTenant.values()]);
  await client.query({
    name: 'persist_zones',
    text: NOTE,
    values: [
      rows.map((row) => row.tenantNo),
      rows.map((row) => row.zone),
      // No zone is more than a day behind UTC.
      rows.map((row) => Math.floor(row.atMs / DAY_MS) - 1),
    ],
  });
}
