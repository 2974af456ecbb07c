import type { Pool, PoolClient } from 'pg';
import { dateOf } from '../../domain/periods.ts';
import type { HistorySum } from '../../packed/packed-arrays.ts';
import { awardsAndSums, eventsAndSums, mayBeEarlier, readSinceDay } from '../partitions.ts';
import { storableText } from '../storable-json.ts';

/** What a leaderboard adds up: values of a metric's events, or awards of a points system. */
export type Counted = { metricNo: number } | { systemNo: number };

/** The times of day that count, and the users' zone offsets. */
export interface CountedTimes {
  /** Seconds of the local day, `from` inclusive, `to` exclusive. The window may span midnight. */
  from: number;
  to: number;
  /** The periods (epoch ms) in which each user had an offset from UTC. */
  offsets: { userId: string; sinceMs: number; untilMs: number; seconds: number }[];
}

interface HistoryQuery {
  tenantNo: number;
  ids: readonly string[];
  counted: Counted;
  /** First days of the runs, ascending; the first one is the leaderboard's first day. */
  runDays: readonly number[];
  /** The leaderboard's last day; `null` if it has no end. */
  lastDay: number | null;
  /** `null` if all times of day count. */
  times: CountedTimes | null;
}

export interface HistorySums {
  id: string;
  /** The packed state, from the same snapshot as the sums. */
  state: Buffer;
  /** Run day, whole, micros; only for runs with events or awards. */
  sums: HistorySum[];
}

/** `at`: SQL for the time of the event or award. */
const times = (at: string): string => `
  AND EXISTS (
    SELECT FROM unnest($8::text[], $9::timestamptz[], $10::timestamptz[], $11::integer[]) AS held (user_id, since, until, seconds)
     WHERE held.user_id = users.id AND ${at} >= held.since AND ${at} < held.until
       AND CASE WHEN $12::integer <= $13::integer
             THEN (floor(extract(epoch FROM ${at}))::bigint + held.seconds) % 86400 >= $12
              AND (floor(extract(epoch FROM ${at}))::bigint + held.seconds) % 86400 < $13
             ELSE (floor(extract(epoch FROM ${at}))::bigint + held.seconds) % 86400 >= $12
               OR (floor(extract(epoch FROM ${at}))::bigint + held.seconds) % 86400 < $13
           END)`;

const statement = (counted: Counted, held: CountedTimes | null): string => {
  const [table, value, no, at] =
    'metricNo' in counted
      ? (['events', 'value', 'metric_no', 'coalesce(occurred_at, at)'] as const)
      : (['awards', 'awarded', 'system_no', 'at'] as const);
  const where = `${no} = $3 AND local_date >= ($4::date[])[1] AND ($6::date IS NULL OR local_date <= $6)`;
  const asked = { user: 'users.id', where, firstId: '$7' };
  // Sums of days contain no time of day. If it matters, dropped events do not count.
  const kept = table === 'events' ? eventsAndSums(asked) : awardsAndSums(asked);
  const from =
    held === null
      ? kept
      : `(SELECT * FROM ${table} WHERE tenant_no = $1 AND user_id = users.id AND ${where} AND id >= $7::uuid${times(at)})`;
  return `
    SELECT users.id, users.state, ${mayBeEarlier('($5::integer[])[1]')} AS "mayBeEarlier", coalesce((
             SELECT json_agg(json_build_array(($5::integer[])[run], trunc(total), ((total - trunc(total)) * 1000000)::integer))
               FROM (SELECT width_bucket(local_date, $4::date[]) AS run, sum(${value})::numeric AS total
                       FROM ${from} AS counted GROUP BY 1) AS runs), '[]') AS sums
      FROM users WHERE users.tenant_no = $1 AND users.id = ANY ($2)`;
};

/** What some users have earned on a leaderboard, by run. */
export async function historySums(client: Pool | PoolClient, query: HistoryQuery): Promise<HistorySums[]> {
  const { tenantNo, ids, counted, runDays, lastDay, times } = query;
  const no = 'metricNo' in counted ? counted.metricNo : counted.systemNo;
  const values: unknown[] = [
    tenantNo,
    ids,
    no,
    runDays.map(dateOf),
    runDays,
    lastDay === null ? null : dateOf(lastDay),
  ];
  const more: unknown[] = [];
  if (times !== null) {
    const { offsets } = times;
    more.push(
      offsets.map(({ userId }) => userId),
      offsets.map(({ sinceMs }) => new Date(sinceMs)),
      offsets.map(({ untilMs }) => new Date(untilMs)),
      offsets.map(({ seconds }) => seconds),
      times.from,
      times.to,
    );
  }
  const found = await readSinceDay(runDays[0]!, {
    rows: async (firstId) => {
      const parameters = [...values, firstId, ...more];
      return (await client.query<HistorySums & { mayBeEarlier: boolean }>(statement(counted, times), parameters)).rows;
    },
    missed: (rows) => rows.some((row) => row.mayBeEarlier),
  });
  return found.map(({ id, state, sums }) => ({ id, state, sums }));
}

export interface PastScore {
  userId: string;
  runDay: number;
  group: string;
  score: number;
}

export async function putPastScores(
  client: PoolClient,
  { tenantNo, boardNo }: { tenantNo: number; boardNo: number },
  scores: readonly PastScore[],
): Promise<void> {
  if (scores.length === 0) return;
  await client.query(
    `INSERT INTO board_past_scores (tenant_no, board_no, user_id, run_day, group_name, score)
     SELECT $1, $2, * FROM unnest($3::text[], $4::integer[], $5::text[], $6::float8[])`,
    [
      tenantNo,
      boardNo,
      scores.map(({ userId }) => userId),
      scores.map(({ runDay }) => runDay),
      scores.map(({ group }) => storableText(group)),
      scores.map(({ score }) => score),
    ],
  );
}

/** Creates final runs from collected scores. Runs that are already final stay unchanged. */
export async function rankPastScores(
  client: PoolClient,
  { tenantNo, boardNo, max }: { tenantNo: number; boardNo: number; max: number | null },
  runs: readonly { runDay: number; lastDay: number; finalMs: number }[],
): Promise<void> {
  await client.query(
    `WITH scores AS (
       DELETE FROM board_past_scores WHERE tenant_no = $1 AND board_no = $2 RETURNING run_day, group_name, user_id, score
     ), made AS (
       INSERT INTO board_runs (tenant_no, board_no, run_day, last_day, final_at, is_final, is_cleared)
       SELECT $1, $2, past.run_day, past.last_day, past.final_at, true, true
         FROM unnest($3::integer[], $4::integer[], $5::timestamptz[]) AS past (run_day, last_day, final_at)
       ON CONFLICT (tenant_no, board_no, run_day) DO NOTHING RETURNING id, run_day
     ), ranked AS (
       SELECT made.id AS run_id, group_name, user_id, score,
              row_number() OVER best - 1 AS place, rank() OVER (PARTITION BY made.id, group_name ORDER BY score DESC) AS rank
         FROM scores JOIN made ON made.run_day = scores.run_day
       WINDOW best AS (PARTITION BY made.id, group_name ORDER BY score DESC, user_id COLLATE "C" DESC)
     ), groups AS (
       INSERT INTO board_run_groups (run_id, name, members, participants, is_done)
       SELECT run_id, group_name, count(*), count(*) FILTER (WHERE $6::integer IS NULL OR rank <= $6), true
         FROM ranked GROUP BY run_id, group_name RETURNING id, run_id, name
     )
     INSERT INTO board_finals (group_id, place, tenant_no, user_id, rank, score)
     SELECT groups.id, place, $1, user_id, rank, score
       FROM ranked JOIN groups ON groups.run_id = ranked.run_id AND groups.name = ranked.group_name`,
    [
      tenantNo,
      boardNo,
      runs.map(({ runDay }) => runDay),
      runs.map(({ lastDay }) => lastDay),
      runs.map(({ finalMs }) => new Date(finalMs)),
      max,
    ],
  );
}
