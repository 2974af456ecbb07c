import type { Pool, PoolClient } from 'pg';

/** The organisation's settings. */
export interface Organisation {
  name: string;
  multiTenancy: boolean;
  /** Share of the users in the control group, 0 to 1. */
  controlShare: number;
}

const COLUMNS = 'name, multi_tenancy AS "multiTenancy", control_share AS "controlShare"';

/** The settings as they are now. */
export async function readOrganisation(pool: Pool): Promise<Organisation> {
  const { rows } = await pool.query<Organisation>(`SELECT ${COLUMNS} FROM organisation`);
  const [settings] = rows;
  if (settings === undefined) throw new Error('The database holds no organisation.');
  return settings;
}

/** Sets what is given, in a transaction; the settings before and after, and the names of those that changed. */
export async function updateOrganisation(
  client: PoolClient,
  changes: Partial<Organisation>,
): Promise<{ before: Organisation; after: Organisation; fields: (keyof Organisation)[] }> {
  const { rows: earlier } = await client.query<Organisation>(`SELECT ${COLUMNS} FROM organisation FOR UPDATE`);
  const { rows: later } = await client.query<Organisation>(
    `UPDATE organisation SET
       name = coalesce($1, name), multi_tenancy = coalesce($2, multi_tenancy), control_share = coalesce($3, control_share),
       revision = revision + 1
     RETURNING ${COLUMNS}`,
    [changes.name ?? null, changes.multiTenancy ?? null, changes.controlShare ?? null],
  );
  const before = earlier[0]!;
  const after = later[0]!;
  const names = Object.keys(after) as (keyof Organisation)[];
  return { before, after, fields: names.filter((name) => before[name] !== after[name]) };
}
