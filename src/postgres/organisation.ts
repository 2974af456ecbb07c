import type { Pool } from 'pg';

/** The organisation's settings. */
export interface Organisation {
  name: string;
  multiTenancy: boolean;
  /** Share of the users in the control group, 0 to 1. */
  controlShare: number;
}

/** Sets what is given; the settings as they are then. */
export async function updateOrganisation(pool: Pool, changes: Partial<Organisation>): Promise<Organisation> {
  const { rows } = await pool.query<Organisation>(
    `UPDATE organisation SET
       name = coalesce($1, name), multi_tenancy = coalesce($2, multi_tenancy), control_share = coalesce($3, control_share),
       revision = revision + 1
     RETURNING name, multi_tenancy AS "multiTenancy", control_share AS "controlShare"`,
    [changes.name ?? null, changes.multiTenancy ?? null, changes.controlShare ?? null],
  );
  return rows[0]!;
}
