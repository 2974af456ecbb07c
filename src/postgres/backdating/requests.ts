import type { Pool, PoolClient } from 'pg';
import {
  ANEW,
  BEGUN,
  isPassWaiting,
  listPasses,
  lockPass,
  nextPass,
  notePass,
  type NextPass,
  type PassStep,
  type PassTable,
  type UserPass,
} from '../users/user-pass.ts';

/** A backdating as it stands. */
export interface Backdating extends UserPass {
  achievementId: string;
  achievementNo: number;
  version: number;
  /** Users for whom something was completed. */
  completed: number;
}

const TABLE: PassTable = {
  name: 'backdatings',
  no: 'achievement_no',
  counter: 'completed',
  own: `achievement_id AS "achievementId", achievement_no AS "achievementNo", version::float8, completed::float8`,
};

/** Asks for achievements of a tenant to be backdated, from the beginning if they are already; in the edit's transaction. */
export async function requestBackdatings(
  client: PoolClient,
  {
    tenantNo,
    version,
    achievements,
  }: { tenantNo: number; version: number; achievements: { id: string; no: number }[] },
): Promise<void> {
  await client.query(
    `INSERT INTO backdatings (tenant_no, achievement_id, achievement_no, version)
     SELECT $1, id, no, $2 FROM unnest($3::uuid[], $4::integer[]) AS asked (id, no)
     ON CONFLICT (tenant_no, achievement_no) DO UPDATE SET version = EXCLUDED.version, completed = 0, ${ANEW}`,
    [tenantNo, version, achievements.map(({ id }) => id), achievements.map(({ no }) => no)],
  );
}

/** The next one to work on, see `nextPass`. */
export const nextBackdating = (pool: Pool, next: NextPass): Promise<Backdating | null> => nextPass(pool, TABLE, next);

/** Whether any is unfinished. */
export const isBackdatingWaiting = (pool: Pool): Promise<boolean> => isPassWaiting(pool, TABLE);

/** Locks one, see `lockPass`. */
export const lockBackdating = (
  client: PoolClient,
  { tenantNo, achievementNo: no }: Backdating,
): Promise<Backdating | null> => lockPass(client, TABLE, { tenantNo, no });

/** Begins one: counts the users to be looked at. */
export async function beginBackdating(client: PoolClient, { tenantNo, achievementNo }: Backdating): Promise<void> {
  await client.query(`UPDATE backdatings SET ${BEGUN} WHERE tenant_no = $1 AND achievement_no = $2`, [
    tenantNo,
    achievementNo,
  ]);
}

/** Notes what was done of one. */
export const noteBackdating = (
  client: PoolClient,
  { tenantNo, achievementNo: no }: Backdating,
  { completed: counted, ...step }: PassStep & { completed: number },
): Promise<void> => notePass(client, TABLE, { tenantNo, no }, { ...step, counted });

/** A tenant's backdatings, youngest first. */
export const listBackdatings = (pool: Pool, tenantNo: number): Promise<Backdating[]> =>
  listPasses(pool, TABLE, tenantNo);
