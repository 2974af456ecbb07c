import type { PoolClient } from 'pg';
import { nextCountMs } from '../../domain/anniversary.ts';
import { FREQUENCIES, epochDay } from '../../domain/periods.ts';
import { streakDueDay } from '../../domain/streaks/settle.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { columns } from '../columns.ts';
import { deleteClaims } from '../rewards.ts';
import { storableJson, storableText } from '../storable-json.ts';
import { addRemoval, type DeletedUser, isListed, needsRemoval } from '../users/row-removals.ts';
import { searchKeys, type SearchKeys } from '../users/user-search.ts';
import { USER_TABLES } from '../users/user-tables.ts';
import { bytesOf, listOf, textsOf, UnstorableValue } from '../row-text.ts';
import { deleteEvents, type EventKey } from './events.ts';

export interface PackedUser {
  tenantNo: number;
  id: string;
  /** The packed state in Redis; see `src/packed/state.ts`. */
  packed: Buffer;
}

const UPSERT = `
  INSERT INTO users (tenant_no, id, created, state, attributes, points, name_key, last_name_key, email_key,
                     zone, due_day, freezes, earned_day, anniversary_ms, daily_origin, weekly_origin, monthly_origin)
  SELECT tenant_no, id, to_timestamp(created_ms / 1000.0), state, attributes, points, name_key, last_name_key, email_key,
         zone, due_day, freezes, earned_day, anniversary_ms, daily_origin, weekly_origin, monthly_origin
  FROM unnest($1::int[], $2::text[], $3::bytea[], $4::bigint[], $5::jsonb[], $6::jsonb[], $7::text[], $8::text[],
              $9::text[], $10::text[], $11::int[], $12::int[], $13::int[], $14::bigint[],
              $15::int[], $16::int[], $17::int[])
    AS touched (tenant_no, id, state, created_ms, attributes, points, name_key, last_name_key, email_key,
                zone, due_day, freezes, earned_day, anniversary_ms, daily_origin, weekly_origin, monthly_origin)
  ON CONFLICT (tenant_no, id) DO UPDATE
    SET state = EXCLUDED.state, attributes = EXCLUDED.attributes, points = EXCLUDED.points,
        name_key = EXCLUDED.name_key, last_name_key = EXCLUDED.last_name_key, email_key = EXCLUDED.email_key,
        zone = EXCLUDED.zone, due_day = EXCLUDED.due_day, freezes = EXCLUDED.freezes, earned_day = EXCLUDED.earned_day,
        anniversary_ms = EXCLUDED.anniversary_ms, daily_origin = EXCLUDED.daily_origin,
        weekly_origin = EXCLUDED.weekly_origin, monthly_origin = EXCLUDED.monthly_origin,
        owed_position = NULL`;

/** Sorts users by key, so that lookups one by one reuse recently read index pages. */
const inOrder = <User extends PackedUser>(users: readonly User[]): User[] =>
  users.toSorted((a, b) => a.tenantNo - b.tenantNo || (a.id < b.id ? -1 : 1));

/** Parameters that identify the users, and their states. */
export const packedUsers = (users: readonly PackedUser[]): unknown[] => [
  listOf(users.map((user) => user.tenantNo)),
  textsOf(users.map((user) => user.id)),
  bytesOf(users.map((user) => user.packed)),
];

/** Columns by which the streak sweep, the count of years and the streak rankings find users. */
class SweptBy {
  private readonly dueDays: (number | null)[] = [];
  private readonly freezes: number[] = [];
  private readonly earnedDays: (number | null)[] = [];
  private readonly anniversaries: (number | null)[] = [];
  private readonly origins: (number | null)[][] = FREQUENCIES.map(() => []);
  private readonly zones: UserZone[] = [];

  add(tenantNo: number, { zone, streaks, freezes, earnedDay, signUp, updatedMs: atMs }: User): void {
    const inOrder = FREQUENCIES.map((frequency) => ({
      ...streaks[frequency],
      lastPeriod: streaks[frequency].lastPeriod ?? 0,
    }));
    this.dueDays.push(streakDueDay(inOrder));
    for (const [index, origins] of this.origins.entries()) {
      const { length, lastPeriod } = inOrder[index]!;
      origins.push(length === 0 ? null : lastPeriod - length);
    }
    this.freezes.push(freezes);
    this.earnedDays.push(earnedDay);
    this.anniversaries.push(signUp === null ? null : nextCountMs(signUp, zone));
    this.zones.push({ tenantNo, zone: zone ?? '', atMs });
  }

  /** The columns of the added users, in order: zone, due_day, freezes, earned_day, anniversary_ms, origins by frequency. */
  parameters(): unknown[] {
    return [
      textsOf(this.zones.map(({ zone }) => zone)),
      listOf(this.dueDays),
      listOf(this.freezes),
      listOf(this.earnedDays),
      listOf(this.anniversaries),
      ...this.origins.map(listOf),
    ];
  }

  async note(client: PoolClient): Promise<void> {
    await noteZones(client, this.zones);
  }
}

/** Decodes a state. Throws UnstorableValue if it is invalid. */
function stateOf(packed: Buffer): User {
  try {
    return decodeUser(packed);
  } catch {
    throw new UnstorableValue('invalid user state');
  }
}

/** Writes users completely: the state and all columns derived from it. Each user may occur only once per call. Idempotent. */
export async function upsertUsers(client: PoolClient, users: readonly PackedUser[]): Promise<void> {
  if (users.length === 0) return;
  const created: number[] = [];
  const attributes: string[] = [];
  const points: string[] = [];
  const keys: SearchKeys[] = [];
  const swept = new SweptBy();
  const sorted = inOrder(users);
  // Do not keep decoded states: with thousands at once, garbage collection costs more than all other work.
  for (const { tenantNo, packed } of sorted) {
    const state = stateOf(packed);
    created.push(state.createdMs);
    attributes.push(storableJson(JSON.stringify(Object.fromEntries(state.attributes))));
    points.push(JSON.stringify(Object.fromEntries(state.points)));
    keys.push(searchKeys({ name: state.name ?? undefined, email: state.email ?? undefined }));
    swept.add(tenantNo, state);
  }
  await client.query({
    name: 'persist_users',
    text: UPSERT,
    values: [
      ...packedUsers(sorted),
      listOf(created),
      textsOf(attributes),
      textsOf(points),
      ...(['name', 'lastName', 'email'] as const).map((key) => textsOf(keys.map((each) => each[key]))),
      ...swept.parameters(),
    ],
  });
  await swept.note(client);
}

/**
 * SQL: whether the last state of a user was stored, true for almost all users. `owed_position IS NULL` would be slower: for
 * a column without statistics the planner assumes 0.5 % nulls, and would read the whole table for each batch. For this
 * comparison it assumes a third.
 */
const NOT_OWED = 'num_nulls(users.owed_position) > 0';

/** Same technique as `UPDATE_POINTS`. */
export const UPDATE_STATES = `
  UPDATE users SET state = touched.state
  FROM unnest($1::int[], $2::text[], $3::bytea[]) AS touched (tenant_no, id, state)
  WHERE users.tenant_no = touched.tenant_no AND users.id = touched.id AND ${NOT_OWED}`;

/**
 * Writes the state of users whose derived columns did not change. Saves unpacking and two JSON columns. Missing users, and
 * those whose last state could not be stored, are written completely.
 */
export async function updateStates(client: PoolClient, users: readonly PackedUser[]): Promise<void> {
  if (users.length === 0) return;
  const values = packedUsers(inOrder(users));
  const { rowCount } = await client.query({ name: 'persist_states', text: UPDATE_STATES, values });
  if (rowCount !== users.length) await upsertUsers(client, users);
}

/** A user and the changed points: system number → total, none of them 0. */
export interface PaidUser extends PackedUser {
  points: Record<number, number>;
}

/** Looks up each user by primary key and changes no indexed column, so no index is updated (HOT). */
export const UPDATE_POINTS = `
  UPDATE users SET state = touched.state, points = users.points || touched.points
  FROM unnest($1::int[], $2::text[], $3::bytea[], $4::jsonb[]) AS touched (tenant_no, id, state, points)
  WHERE users.tenant_no = touched.tenant_no AND users.id = touched.id AND ${NOT_OWED}`;

export const changedPoints = (users: readonly PaidUser[]): string =>
  textsOf(users.map(({ points }) => JSON.stringify(points)));

/**
 * Writes the state of users of whom only points changed, without unpacking it. Missing users, and those whose last state could not
 * be stored, are written completely.
 */
export async function updatePoints(client: PoolClient, users: readonly PaidUser[]): Promise<void> {
  if (users.length === 0) return;
  const sorted = inOrder(users);
  const values = [...packedUsers(sorted), changedPoints(sorted)];
  const { rowCount } = await client.query({ name: 'persist_points', text: UPDATE_POINTS, values });
  if (rowCount !== users.length) await upsertUsers(client, users);
}

const UPDATE = `
  UPDATE users SET state = touched.state, points = users.points || touched.points, zone = touched.zone,
                   due_day = touched.due_day, freezes = touched.freezes, earned_day = touched.earned_day,
                   anniversary_ms = touched.anniversary_ms, daily_origin = touched.daily_origin,
                   weekly_origin = touched.weekly_origin, monthly_origin = touched.monthly_origin
  FROM unnest($1::int[], $2::text[], $3::bytea[], $4::jsonb[], $5::text[], $6::int[], $7::int[], $8::int[],
              $9::bigint[], $10::int[], $11::int[], $12::int[])
    AS touched (tenant_no, id, state, points, zone, due_day, freezes, earned_day, anniversary_ms,
                daily_origin, weekly_origin, monthly_origin)
  WHERE users.tenant_no = touched.tenant_no AND users.id = touched.id AND ${NOT_OWED}`;

/**
 * Writes the state of users whose streaks or zone changed, the columns for the sweep, and changed points. A midnight changes
 * all users, as do the first events of a day. Missing users, and those whose last state could not be stored, are written
 * completely.
 */
export async function updateStreaks(client: PoolClient, users: readonly PaidUser[]): Promise<void> {
  if (users.length === 0) return;
  const swept = new SweptBy();
  const sorted = inOrder(users);
  for (const { tenantNo, packed } of sorted) swept.add(tenantNo, stateOf(packed));
  const values = [...packedUsers(sorted), changedPoints(sorted), ...swept.parameters()];
  const { rowCount } = await client.query({ name: 'persist_streaks', text: UPDATE, values });
  if (rowCount === users.length) await swept.note(client);
  else await upsertUsers(client, users);
}

export interface UserZone {
  tenantNo: number;
  /** IANA name; `''` for UTC. */
  zone: string;
  /** When the user was last changed, epoch ms. */
  atMs: number;
}

const ZONE = columns<{ tenantNo: number; zone: string; sweptDay: number }>({
  tenantNo: 'int',
  zone: 'text',
  sweptDay: 'int',
});
const NOTE = `${ZONE.insertInto('streak_zones')} ON CONFLICT DO NOTHING`;

/** Starts sweeping zones that are not swept yet, from the earliest day on which one of these users was changed. */
export async function noteZones(client: PoolClient, zones: readonly UserZone[]): Promise<void> {
  const distinct = new Map<number, Map<string, UserZone>>();
  for (const each of zones) {
    let ofTenant = distinct.get(each.tenantNo);
    if (ofTenant === undefined) distinct.set(each.tenantNo, (ofTenant = new Map()));
    if (each.atMs < (ofTenant.get(each.zone)?.atMs ?? Infinity)) ofTenant.set(each.zone, each);
  }
  // No zone is more than a day behind UTC.
  const rows = [...distinct.values()].flatMap((ofTenant) =>
    [...ofTenant.values()].map((each) => ({ ...each, sweptDay: epochDay(each.atMs) - 1 })),
  );
  await client.query({ name: 'persist_zones', text: NOTE, values: ZONE.arrays(rows) });
}

/**
 * Deletes a user's rows from all tables, and passes the idempotency keys to `onKeys`, some at a time. If there are very many rows, a job
 * deletes most of them with their keys.
 */
export async function deleteUser(
  client: PoolClient,
  user: DeletedUser,
  onKeys: (keys: EventKey[]) => Promise<void>,
): Promise<void> {
  const isLarge = await needsRemoval(client, user);
  await deleteEvents(client, user, { onKeys, isLarge });
  await deleteClaims(client, user);
  const values = [user.tenantNo, storableText(user.userId)];
  for (const {
    table,
    user: column,
    persisted,
    withEvents,
    withCounts,
    anonymised,
    emptied = [],
    kept,
  } of USER_TABLES) {
    if (persisted === false || withEvents || withCounts || kept || (isLarge && isListed(table))) continue;
    const change = anonymised
      ? `UPDATE ${table} SET ${column} = 'deleted:' || gen_random_uuid()${emptied.map((each) => `, ${each} = NULL`).join('')}`
      : `DELETE FROM ${table}`;
    await client.query(`${change} WHERE tenant_no = $1 AND ${column} = $2`, values);
  }
  if (isLarge || (user.lastSnapshots ?? null) !== null) await addRemoval(client, user, { isLarge });
}
