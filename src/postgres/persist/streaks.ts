import type { NamedUser } from '../../domain/user.ts';
import type { PoolClient } from 'pg';
import type { SettlementKind } from '../../domain/streaks/settle.ts';
import { storableText } from '../storable-json.ts';
import { columns } from '../columns.ts';

/** Their stored numbers start at 1. */
export const SETTLEMENT_KINDS = [
  'freeze',
  'pause',
  'lost',
  'restored',
  'replaced',
  'off',
  'reset',
] as const satisfies SettlementKind[];

export interface StreakChangeRow {
  tenantNo: number;
  userId: string;
  frequency: number;
  kind: number;
  fromDay: number;
  toDay: number;
  length: number | null;
  atMs: number;
  /** The correction that caused it (32 hex digits), or `null`. */
  correction: string | null;
}

const CHANGE = columns<StreakChangeRow>({
  tenantNo: 'int',
  userId: 'text',
  frequency: 'smallint',
  kind: 'smallint',
  fromDay: 'int',
  toDay: 'int',
  length: 'int',
  atMs: ['time', 'at'],
  correction: 'uuid',
});

export const insertStreakChanges = (client: PoolClient, changes: readonly StreakChangeRow[]): Promise<void> =>
  CHANGE.copyInto(client, 'streak_changes', changes);

export interface SupersededChanges {
  tenantNo: number;
  userId: string;
  nos: readonly string[];
  /** The correction that replaced them, 32 hex digits. */
  correction: string;
}

const SUPERSEDE = `
  UPDATE streak_changes SET superseded_by = $4::uuid
   WHERE tenant_no = $1 AND user_id = $2 AND no = ANY ($3::bigint[]) AND superseded_by IS NULL
  RETURNING frequency, kind, epoch_ms(at)::float8 AS "atMs"`;

interface Superseded extends NamedUser {
  frequency: number;
  kind: number;
  atMs: number;
}

/** Marks streak changes as superseded: they are kept but no longer count. Returns those that counted until now. Idempotent. */
export async function supersedeStreakChanges(
  client: PoolClient,
  changes: readonly SupersededChanges[],
): Promise<Superseded[]> {
  const superseded: Superseded[] = [];
  for (const { tenantNo, userId, nos, correction } of changes) {
    const values = [tenantNo, storableText(userId), nos, correction];
    const { rows } = await client.query<Omit<Superseded, keyof NamedUser>>(SUPERSEDE, values);
    for (const row of rows) superseded.push({ tenantNo, userId, ...row });
  }
  return superseded;
}

const INSERT = 'INSERT INTO streak_calls (id) SELECT unnest($1::uuid[]) ON CONFLICT DO NOTHING';

const DELETE_OLD = `
  DELETE FROM streak_calls WHERE id IN (
    SELECT id FROM streak_calls WHERE stored < now() - interval '1 hour' FOR UPDATE SKIP LOCKED)`;

/** Records IDs (32 hex digits) of administrators' calls that changed a streak, and deletes those older than an hour. */
export async function insertStreakCalls(client: PoolClient, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await client.query(INSERT, [ids]);
  await client.query(DELETE_OLD);
}

export interface StreakPauseRow {
  /** 32 hex digits. */
  id: string;
  tenantNo: number;
  userId: string;
  fromDay: number;
  /** Before `fromDay` if it was cancelled before it began. */
  toDay: number;
  atMs: number;
}

const PAUSE = columns<StreakPauseRow>({
  id: 'uuid',
  tenantNo: 'int',
  userId: 'text',
  fromDay: 'int',
  toDay: 'int',
  atMs: ['time', 'created'],
});
const UPSERT = `${PAUSE.insertInto('streak_pauses')}
  ON CONFLICT (id) DO UPDATE SET to_day = EXCLUDED.to_day, deleted = EXCLUDED.created`;

/** Adds pauses. For existing ones, marks them as deleted, with the given last day. */
export async function writeStreakPauses(client: PoolClient, pauses: readonly StreakPauseRow[]): Promise<void> {
  // One statement cannot change a row twice, so a pause that is created and deleted in one batch takes two statements.
  for (let rest = [...pauses]; rest.length > 0;) {
    const seen = new Set<string>();
    const now = rest.filter(({ id }) => !seen.has(id) && seen.add(id));
    rest = rest.filter((row) => !now.includes(row));
    await client.query(UPSERT, PAUSE.arrays(now));
  }
}
