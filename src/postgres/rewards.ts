/** Claims of rewards, and how many each reward has. Transactions lock the count before the claim. */
import type { Pool, PoolClient } from 'pg';
import { columns } from './columns.ts';
import type { BalanceChangeRow } from './balance-changes.ts';
import { storableText } from './storable-json.ts';
import { transaction } from './transaction.ts';
import type { NamedUser } from '../domain/user.ts';

/** Stored numbers must never change. */
export const CLAIM_STATE = { reserved: 0, claimed: 1, fulfilled: 2, cancelled: 3 } as const;

export interface ClaimRow {
  /** 32 hex digits. Once paid, the ID of the spending. */
  id: string;
  tenantNo: number;
  userId: string;
  rewardNo: number;
  systemNo: number;
  price: number;
  state: (typeof CLAIM_STATE)[keyof typeof CLAIM_STATE];
  idempotencyKey: string | null;
  refundDue: boolean;
  reason: string | null;
  claimedMs: number | null;
  fulfilledMs: number | null;
  cancelledMs: number | null;
  reported: number;
}

const COLUMNS = `
  replace(id::text, '-', '') AS id, tenant_no AS "tenantNo", user_id AS "userId", reward_no AS "rewardNo",
  system_no AS "systemNo", price::float8, state, idempotency_key AS "idempotencyKey", refund_due AS "refundDue", reason,
  epoch_ms(claimed)::float8 AS "claimedMs", epoch_ms(fulfilled)::float8 AS "fulfilledMs",
  epoch_ms(cancelled)::float8 AS "cancelledMs", reported`;

/** The claim of an idempotency key. */
export async function claimOfKey(pool: Pool | PoolClient, of: NamedUser & { key: string }): Promise<ClaimRow | null> {
  const { rows } = await pool.query<ClaimRow>(
    `SELECT ${COLUMNS} FROM reward_claims WHERE tenant_no = $1 AND user_id = $2 AND idempotency_key = $3`,
    [of.tenantNo, storableText(of.userId), storableText(of.key)],
  );
  return rows[0] ?? null;
}

/** How many claims rewards have, by number of the reward; with a user, also how many of them are the user's. */
export async function claimCounts(
  pool: Pool,
  tenantNo: number,
  rewardNos: readonly number[],
  userId: string | null,
): Promise<Map<number, { claimed: number; own: number }>> {
  const { rows } = await pool.query<{ rewardNo: number; claimed: number; own: number }>(
    `SELECT reward_no AS "rewardNo", claimed::float8,
            (SELECT count(*) FROM reward_claims AS claim
              WHERE claim.tenant_no = $1 AND claim.user_id = $3 AND claim.reward_no = counted.reward_no AND state < 3)::int AS own
       FROM reward_counts AS counted WHERE tenant_no = $1 AND reward_no = ANY ($2)`,
    [tenantNo, rewardNos, userId === null ? null : storableText(userId)],
  );
  return new Map(rows.map(({ rewardNo, ...counts }) => [rewardNo, counts]));
}

/** When the nth claim of a reward, counted from the newest, was reserved (epoch ms). Leaves out rewards with fewer claims. */
export async function nthNewestClaims(
  pool: Pool,
  tenantNo: number,
  wanted: readonly { rewardNo: number; nth: number }[],
): Promise<Map<number, number>> {
  if (wanted.length === 0) return new Map();
  const { rows } = await pool.query<{ rewardNo: number; reservedMs: number }>(
    `SELECT wanted.no AS "rewardNo", epoch_ms(reserved)::float8 AS "reservedMs"
       FROM unnest($2::int[], $3::int[]) AS wanted (no, nth)
      CROSS JOIN LATERAL (
        SELECT reserved FROM reward_claims AS claim
         WHERE claim.tenant_no = $1 AND claim.reward_no = wanted.no AND state < ${CLAIM_STATE.cancelled}
         ORDER BY id DESC OFFSET wanted.nth - 1 LIMIT 1
      ) AS newest`,
    [tenantNo, wanted.map(({ rewardNo }) => rewardNo), wanted.map(({ nth }) => nth)],
  );
  return new Map(rows.map(({ rewardNo, reservedMs }) => [rewardNo, reservedMs]));
}

/**
 * How many of a tenant's newest claims (`most`) were claimed before a time and are neither fulfilled nor cancelled. 0 if none of them is
 * fulfilled: then nobody records that.
 */
export async function countWaitingClaims(
  pool: Pool,
  tenantNo: number,
  { beforeMs, most }: { beforeMs: number; most: number },
): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT CASE WHEN bool_or(state = ${CLAIM_STATE.fulfilled})
              THEN count(*) FILTER (WHERE state = ${CLAIM_STATE.claimed} AND claimed < to_timestamp($2::float8 / 1000))
              ELSE 0 END::int AS count
       FROM (SELECT state, claimed FROM reward_claims WHERE tenant_no = $1 ORDER BY id DESC LIMIT $3) AS newest`,
    [tenantNo, beforeMs, most],
  );
  return rows[0]!.count;
}

/** Locks a reward's count, which it returns. */
async function lockCount(client: PoolClient, tenantNo: number, rewardNo: number): Promise<number> {
  const { rows } = await client.query<{ claimed: number }>(
    `INSERT INTO reward_counts AS counted (tenant_no, reward_no, claimed) VALUES ($1, $2, 0)
     ON CONFLICT (tenant_no, reward_no) DO UPDATE SET claimed = counted.claimed RETURNING claimed::float8`,
    [tenantNo, rewardNo],
  );
  return rows[0]!.claimed;
}

const addToCount = (client: PoolClient, tenantNo: number, rewardNo: number, sum: number): Promise<unknown> =>
  client.query('UPDATE reward_counts SET claimed = claimed + $3 WHERE tenant_no = $1 AND reward_no = $2', [
    tenantNo,
    rewardNo,
    sum,
  ]);

export interface Reservation extends NamedUser {
  id: string;
  rewardNo: number;
  systemNo: number;
  key: string;
  atMs: number;
}

interface Offer {
  price: number;
  stock: number | null;
  limitPerUser: number | null;
  own: number;
}

export type ReserveOutcome = ClaimRow | 'inactive' | 'sold out' | 'limit reached';

/**
 * Reserves one of a reward's stock, at the price and within the limits that the configuration has now. Idempotent: returns
 * the claim of the key if there is one.
 */
export function reserveClaim(pool: Pool, reservation: Reservation): Promise<ReserveOutcome> {
  const { tenantNo, userId, rewardNo } = reservation;
  return transaction(pool, async (client) => {
    const claimed = await lockCount(client, tenantNo, rewardNo);
    // After the lock, so that the statement sees what earlier holders of the lock wrote.
    const { rows } = await client.query<Offer>(
      `SELECT (doc->>'price')::float8 AS price, (doc->>'stock')::float8 AS stock, (doc->>'limitPerUser')::float8 AS "limitPerUser",
              CASE WHEN doc->>'limitPerUser' IS NULL THEN 0 ELSE
                (SELECT count(*) FROM reward_claims WHERE tenant_no = $1 AND user_id = $3 AND reward_no = $2 AND state < 3)
              END::float8 AS own
         FROM catalog_resources
        WHERE tenant_no = $1 AND no = $2 AND kind = 'reward' AND deleted IS NULL AND doc->>'status' = 'active'`,
      [tenantNo, rewardNo, storableText(userId)],
    );
    const refusal = refusalOf(rows[0], claimed);
    const inserted = refusal === null ? await insertReserved(client, reservation, rows[0]!.price) : null;
    if (inserted === null) return (await claimOfKey(client, { tenantNo, userId, key: reservation.key })) ?? refusal!;
    await addToCount(client, tenantNo, rewardNo, 1);
    return inserted;
  });
}

function refusalOf(offer: Offer | undefined, claimed: number): Exclude<ReserveOutcome, ClaimRow> | null {
  if (offer === undefined) return 'inactive';
  if (offer.limitPerUser !== null && offer.own >= offer.limitPerUser) return 'limit reached';
  return offer.stock !== null && claimed >= offer.stock ? 'sold out' : null;
}

/** `null` if the user has a claim with the key. */
async function insertReserved(client: PoolClient, reservation: Reservation, price: number): Promise<ClaimRow | null> {
  const { rows } = await client.query<ClaimRow>(
    `INSERT INTO reward_claims (id, tenant_no, user_id, reward_no, system_no, price, state, idempotency_key, reserved)
     VALUES ($1, $2, $3, $4, $5, $6, ${CLAIM_STATE.reserved}, $7, to_timestamp($8 / 1000.0))
     ON CONFLICT (tenant_no, user_id, idempotency_key) DO NOTHING RETURNING ${COLUMNS}`,
    [
      reservation.id,
      reservation.tenantNo,
      storableText(reservation.userId),
      reservation.rewardNo,
      reservation.systemNo,
      price,
      storableText(reservation.key),
      reservation.atMs,
    ],
  );
  return rows[0] ?? null;
}

/** Deletes a reservation that will not be paid. Does nothing if it was paid or deleted. */
export function releaseClaim(pool: Pool, { id, tenantNo, rewardNo }: ClaimRow): Promise<void> {
  return transaction(pool, async (client) => {
    await lockCount(client, tenantNo, rewardNo);
    const { rowCount } = await client.query(
      `DELETE FROM reward_claims WHERE id = $1 AND state = ${CLAIM_STATE.reserved}`,
      [id],
    );
    if (rowCount === 1) await addToCount(client, tenantNo, rewardNo, -1);
  });
}

const PAID = columns<BalanceChangeRow>({
  id: 'uuid',
  tenantNo: 'int',
  userId: 'text',
  rewardNo: 'int',
  systemNo: 'int',
  amount: ['bigint', 'price'],
  idempotencyKey: ['text', 'key'],
  atMs: 'bigint',
});

/**
 * Confirms the reservations that spendings paid for, in the transaction that stores the spendings. A spending without a
 * reservation becomes a cancelled claim whose points must be given back.
 */
export async function confirmClaims(client: PoolClient, changes: readonly BalanceChangeRow[]): Promise<void> {
  const paid = changes.filter(({ rewardNo, closes }) => rewardNo !== null && closes === null);
  if (paid.length === 0) return;
  const values = PAID.arrays(paid);
  const { rowCount } = await client.query(
    `UPDATE reward_claims AS claim SET id = paid.id, state = ${CLAIM_STATE.claimed}, claimed = to_timestamp(at_ms / 1000.0)
       FROM ${PAID.unnest('paid')}
      WHERE claim.tenant_no = paid.tenant_no AND claim.user_id = paid.user_id AND idempotency_key = key
        AND claim.reward_no = paid.reward_no AND claim.price = paid.price AND state = ${CLAIM_STATE.reserved}`,
    values,
  );
  if (rowCount === paid.length) return;
  const insertOwed = (key: 'key' | 'NULL'): Promise<unknown> =>
    client.query(
      `INSERT INTO reward_claims AS claim (id, tenant_no, user_id, reward_no, system_no, price, state, idempotency_key, refund_due,
                                           reason, reserved, claimed, cancelled)
       SELECT id, tenant_no, user_id, reward_no, system_no, price, ${CLAIM_STATE.cancelled}, ${key}, true,
              'The claim had been given up before it was paid.', at, at, at
         FROM ${PAID.unnest('paid')}, to_timestamp(at_ms / 1000.0) AS at
        WHERE NOT EXISTS (SELECT FROM reward_claims AS known WHERE known.id = paid.id)
       ON CONFLICT (tenant_no, user_id, idempotency_key) DO UPDATE
         SET id = EXCLUDED.id, state = ${CLAIM_STATE.claimed}, claimed = EXCLUDED.claimed
         WHERE claim.state = ${CLAIM_STATE.reserved} AND claim.reward_no = EXCLUDED.reward_no AND claim.price = EXCLUDED.price`,
      values,
    );
  // A repeated request may have made a reservation since the update: then that one is paid.
  await insertOwed('key');
  // Another claim of the user has the key.
  await insertOwed('NULL');
}

/** Deletes a user's claims. Reservations no longer count; paid claims still do, as claims that are gone. */
export async function deleteClaims(client: PoolClient, { tenantNo, userId }: NamedUser): Promise<void> {
  const of = [tenantNo, storableText(userId)];
  await client.query(
    `SELECT FROM reward_counts WHERE tenant_no = $1 AND reward_no IN (
       SELECT reward_no FROM reward_claims WHERE tenant_no = $1 AND user_id = $2 AND state < ${CLAIM_STATE.cancelled}
     ) ORDER BY reward_no FOR UPDATE`,
    of,
  );
  await client.query(
    `WITH deleted AS (DELETE FROM reward_claims WHERE tenant_no = $1 AND user_id = $2 RETURNING reward_no, state),
          counts AS (SELECT reward_no, count(*) FILTER (WHERE state = ${CLAIM_STATE.reserved}) AS reserved,
                            count(*) FILTER (WHERE state IN (${CLAIM_STATE.claimed}, ${CLAIM_STATE.fulfilled})) AS paid
                       FROM deleted GROUP BY reward_no)
     UPDATE reward_counts AS counted SET claimed = claimed - reserved, gone = gone + paid FROM counts
      WHERE tenant_no = $1 AND counted.reward_no = counts.reward_no`,
    of,
  );
}

/** A reward whose count is not the number of its claims that were not cancelled, with those of deleted users. */
export interface WrongCount {
  tenantNo: number;
  rewardNo: number;
  counted: number;
  claims: number;
}

/** `tenantNos`: of these tenants only; `null`: of all. Exact, because each transaction that changes a claim changes the count. */
export async function wrongClaimCounts(pool: Pool, tenantNos: readonly number[] | null): Promise<WrongCount[]> {
  const { rows } = await pool.query<WrongCount>(
    `SELECT tenant_no AS "tenantNo", reward_no AS "rewardNo", coalesce(claimed, 0)::float8 AS counted,
            (coalesce(gone, 0) + coalesce(n, 0))::float8 AS claims
       FROM (SELECT tenant_no, reward_no, count(*) AS n FROM reward_claims
              WHERE state < ${CLAIM_STATE.cancelled} AND ($1::int[] IS NULL OR tenant_no = ANY ($1)) GROUP BY 1, 2) AS claims
       FULL JOIN (SELECT * FROM reward_counts WHERE $1::int[] IS NULL OR tenant_no = ANY ($1)) AS counts
                 USING (tenant_no, reward_no)
      WHERE coalesce(claimed, 0) <> coalesce(gone, 0) + coalesce(n, 0)
      ORDER BY 1, 2`,
    [tenantNos],
  );
  return rows;
}

export interface ClaimsFilter {
  tenantNo: number;
  userId: string | null;
  rewardNo: number | null;
  state: number | null;
  /** Only claims before this one, 32 hex digits; `null`: from the newest on. */
  before: string | null;
  limit: number;
}

/** Paid claims, newest first. */
export async function listClaims(pool: Pool, filter: ClaimsFilter): Promise<ClaimRow[]> {
  const { tenantNo, userId, rewardNo, state, before, limit } = filter;
  const wheres = [`tenant_no = $1 AND state > ${CLAIM_STATE.reserved}`];
  const values: unknown[] = [tenantNo];
  const where = (condition: string, value: unknown): void => {
    if (value !== null) wheres.push(`${condition} $${values.push(value)}`);
  };
  where('user_id =', userId === null ? null : storableText(userId));
  where('reward_no =', rewardNo);
  where('state =', state);
  where('reward_claims.id <', before);
  const { rows } = await pool.query<ClaimRow>(
    `SELECT ${COLUMNS} FROM reward_claims WHERE ${wheres.join(' AND ')} ORDER BY reward_claims.id DESC LIMIT $${values.push(limit)}`,
    values,
  );
  return rows;
}

/** A paid claim; `null` if there is none. */
export async function readClaim(pool: Pool | PoolClient, tenantNo: number, id: string): Promise<ClaimRow | null> {
  const { rows } = await pool.query<ClaimRow>(
    `SELECT ${COLUMNS} FROM reward_claims WHERE tenant_no = $1 AND id = $2 AND state > ${CLAIM_STATE.reserved}`,
    [tenantNo, id],
  );
  return rows[0] ?? null;
}

/** Makes a claimed claim fulfilled. `null` if it is not claimed. */
export async function fulfilClaim(pool: Pool, tenantNo: number, id: string, atMs: number): Promise<ClaimRow | null> {
  const { rows } = await pool.query<ClaimRow>(
    `UPDATE reward_claims SET state = ${CLAIM_STATE.fulfilled}, fulfilled = to_timestamp($3 / 1000.0)
      WHERE tenant_no = $1 AND id = $2 AND state = ${CLAIM_STATE.claimed} RETURNING ${COLUMNS}`,
    [tenantNo, id, atMs],
  );
  return rows[0] ?? null;
}

/** Cancels a claimed claim: its stock can be claimed again, and its points are owed. `null` if it is not claimed. */
export function cancelClaim(
  pool: Pool,
  { id, tenantNo, rewardNo }: ClaimRow,
  atMs: number,
  reason: string | null,
): Promise<ClaimRow | null> {
  return transaction(pool, async (client) => {
    await lockCount(client, tenantNo, rewardNo);
    const { rows } = await client.query<ClaimRow>(
      `UPDATE reward_claims
          SET state = ${CLAIM_STATE.cancelled}, cancelled = to_timestamp($2 / 1000.0), reason = $3, refund_due = true
        WHERE id = $1 AND state = ${CLAIM_STATE.claimed} RETURNING ${COLUMNS}`,
      [id, atMs, reason === null ? null : storableText(reason)],
    );
    if (rows[0] !== undefined) await addToCount(client, tenantNo, rewardNo, -1);
    return rows[0] ?? null;
  });
}

/** Notes that a cancelled claim's points were given back. */
export async function noteRefund(pool: Pool, { id }: ClaimRow): Promise<void> {
  await pool.query('UPDATE reward_claims SET refund_due = false WHERE id = $1', [id]);
}

const REPORTED = columns<ClaimRow>({ id: 'uuid', reported: ['smallint', 'before'], state: 'smallint' });

/** Notes that claims were reported in their present states. Returns the IDs of those that nobody has reported since they were read. */
export async function noteReported(client: Pool | PoolClient, rows: readonly ClaimRow[]): Promise<ReadonlySet<string>> {
  const noted = await client.query<{ id: string }>(
    `UPDATE reward_claims AS claim SET reported = now.state
       FROM ${REPORTED.unnest('now')}
      WHERE claim.id = now.id AND claim.reported = before RETURNING replace(claim.id::text, '-', '') AS id`,
    REPORTED.arrays(rows),
  );
  return new Set(noted.rows.map(({ id }) => id));
}

/** When a claim with something to do fell due. A reservation is left to its request for a minute. */
const DUE = `CASE WHEN state = ${CLAIM_STATE.reserved} THEN reserved + interval '1 minute'
                  ELSE coalesce(cancelled, fulfilled, claimed) END`;
/** In the words of the partial index. */
const OPEN = 'state = 0 OR refund_due OR reported <> state';

/** Work that failed and waits: claims (IDs), and tenants whose claims cannot be reported. */
export interface ClaimsAside {
  ids: readonly string[];
  tenantNos: readonly number[];
}

const NOT_ASIDE = `NOT reward_claims.id = ANY ($2::uuid[])
                   AND (state = ${CLAIM_STATE.reserved} OR refund_due OR NOT tenant_no = ANY ($3::int[]))`;

/** The time (epoch ms), not after `upToMs`, at which the first claim with something to do fell due. */
export async function firstOpenClaimMs(pool: Pool, upToMs: number, aside: ClaimsAside): Promise<number | null> {
  const { rows } = await pool.query<{ ms: number | null }>({
    name: 'first_open_claim',
    text: `SELECT epoch_ms(min(due))::float8 AS ms FROM (
             SELECT ${DUE} AS due FROM reward_claims
               JOIN tenants ON tenants.no = tenant_no AND tenants.status = 'active'
               JOIN organisation ON multi_tenancy = (tenant_no > 0)
              WHERE (${OPEN}) AND ${NOT_ASIDE}) AS open
            WHERE due <= to_timestamp($1 / 1000.0)`,
    values: [upToMs, aside.ids, aside.tenantNos],
  });
  return rows[0]?.ms ?? null;
}

/** Claims with something to do that fell due, oldest first. */
export async function openClaims(
  pool: Pool,
  upToMs: number,
  aside: ClaimsAside,
  limit: number,
): Promise<(ClaimRow & { version: number })[]> {
  const { rows } = await pool.query<ClaimRow & { version: number }>(
    `SELECT ${COLUMNS}, version FROM (
       SELECT reward_claims.*, catalog_version AS version, ${DUE} AS due FROM reward_claims
         JOIN tenants ON tenants.no = tenant_no AND tenants.status = 'active'
         JOIN organisation ON multi_tenancy = (tenant_no > 0)
        WHERE (${OPEN}) AND ${NOT_ASIDE}) AS open
      WHERE due <= to_timestamp($1 / 1000.0) ORDER BY open.id LIMIT $4`,
    [upToMs, aside.ids, aside.tenantNos, limit],
  );
  return rows;
}
