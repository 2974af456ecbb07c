import type { Pool, PoolClient } from 'pg';
import type { OrganisationSettings } from '../domain/administration/admin.ts';
import type { Branding, Settings } from '../domain/settings.ts';
import { countRevision } from './revisions.ts';

export interface OrganisationRow extends OrganisationSettings {
  /** Only fields that were set. */
  branding: Partial<Branding>;
  userActivationWindow: number;
  aggregationPeriod: Settings['aggregationPeriod'];
}

const SETTING_COLUMNS: Readonly<Record<keyof OrganisationRow, string>> = {
  name: 'name',
  multiTenancy: 'multi_tenancy',
  controlShare: 'control_share',
  boardValues: 'board_values',
  rateLimit: 'rate_limit',
  branding: 'branding',
  userActivationWindow: 'user_activation_window',
  aggregationPeriod: 'aggregation_period',
};
const NAMES = Object.keys(SETTING_COLUMNS) as (keyof OrganisationRow)[];
const SELECTED = NAMES.map((name) => `${SETTING_COLUMNS[name]} AS "${name}"`).join(', ');

/** Stands for a limit of `null`, which clears the setting. Any other `null` means "not sent". */
const NO_LIMIT_SET = -1;

/** Branding is merged with the previous one; other settings are replaced. */
const ASSIGNED = NAMES.map((name, index) => {
  const column = SETTING_COLUMNS[name];
  const sent = `$${index + 1}`;
  if (name === 'branding') return `${column} = ${column} || coalesce(${sent}::jsonb, '{}')`;
  if (name === 'rateLimit') return `${column} = nullif(coalesce(${sent}::integer, ${column}), ${NO_LIMIT_SET})`;
  return `${column} = coalesce(${sent}, ${column})`;
}).join(', ');

export async function readOrganisation(pool: Pool): Promise<OrganisationRow> {
  const { rows } = await pool.query<OrganisationRow>(`SELECT ${SELECTED} FROM organisation`);
  const [settings] = rows;
  if (settings === undefined) throw new Error('The organisation is missing from the database.');
  return settings;
}

export async function updateOrganisation(
  client: PoolClient,
  changes: Partial<OrganisationRow>,
): Promise<{ before: OrganisationRow; after: OrganisationRow; fields: (keyof OrganisationRow)[] }> {
  const { rows: earlier } = await client.query<OrganisationRow>(`SELECT ${SELECTED} FROM organisation FOR UPDATE`);
  const { rows: later } = await client.query<OrganisationRow>(
    `UPDATE organisation SET ${ASSIGNED} RETURNING ${SELECTED}`,
    NAMES.map((name) => (name === 'rateLimit' && changes[name] === null ? NO_LIMIT_SET : (changes[name] ?? null))),
  );
  await countRevision(client);
  const before = earlier[0]!;
  const after = later[0]!;
  // Compared as JSON, because Postgres stores the fields of jsonb in a fixed order.
  const differs = (name: keyof OrganisationRow): boolean =>
    JSON.stringify(before[name]) !== JSON.stringify(after[name]);
  return { before, after, fields: NAMES.filter(differs) };
}
