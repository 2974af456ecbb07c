import type { Fold } from '../../domain/rule-kinds.ts';
import type { Pool, PoolClient } from 'pg';
import type { Leaderboard } from '../../domain/catalog.ts';
import { turned } from '../../domain/leaderboard.ts';
import { dateOf } from '../../domain/periods.ts';
import type { HistorySum } from '../../packed/state.ts';
import { awardsAndSums, eventsAndSums, mayBeEarlier, readSinceDay } from '../partitions.ts';
import { storableText } from '../storable-json.ts';
import { rankNumberSql, type SecondaryOrder } from '../../domain/secondary-score.ts';

/** What a leaderboard scores: values of a metric's events, or awards of a points system. */
export type Counted = CountedMetric | { systemNo: number };

export interface CountedMetric {
  metricNo: number;
  /** Whether values are negated, in ascending order. */
  negated?: boolean;
  /** `null` or absent: the sum. */
  fold?: Fold | null;
  /** Whether every user with an event in a run has a score, also 0 or a negative one. */
  always?: boolean;
  /** Whether to find out when a sum was reached: see SCORE_TIME. Of dropped and imported events, only the day is known. */
  timed?: boolean;
  /** The event attribute with the secondary score; only with `fold`. */
  secondary?: { key: string; order: SecondaryOrder } | null;
}

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
  /** An event (32 hex digits) that is about to be reversed (`removed`), or to count again. Only for single events. */
  changed?: { removed?: string; added?: string };
}

export interface HistorySums {
  id: string;
  /** The packed state, from the same snapshot as the sums. */
  state: Buffer;
  /** Only for runs with events or awards. */
  sums: HistorySum[];
}

/** SQL: the order in which the first event of a run is the score. Of equal values the earliest counts. */
const ORDER: Record<Fold, string> = {
  max: 'score DESC, secondary DESC, reached, id',
  min: 'score, secondary DESC, reached, id',
  last: 'reached DESC, id DESC',
};

const OCCURRED = 'coalesce(occurred_at, at)';

/**
 * SQL: whether an event is one that counts. An import brings sums of days instead. Parameters: an event that is about to be
 * reversed, and one that is about to count again.
 */
const isCounted = (removed: string, added: string): string => `
  reverses IS NULL AND NOT imported AND id IS DISTINCT FROM ${removed}::uuid AND (id = ${added}::uuid OR id <> ALL (ARRAY(
    SELECT root_id FROM reversals WHERE reversals.tenant_no = $1 AND reversals.user_id = users.id AND in_force)))`;

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
  const ofMetric = 'metricNo' in counted ? counted : null;
  const [table, value, no, at] =
    ofMetric !== null
      ? (['events', ofMetric.negated ? '-value' : 'value', 'metric_no', OCCURRED] as const)
      : (['awards', 'awarded', 'system_no', 'at'] as const);
  const where = `${no} = $3 AND local_date >= ($4::date[])[1] AND ($6::date IS NULL OR local_date <= $6)`;
  const rowFilter = { user: 'users.id', where, firstId: '$7' };
  // Sums of days contain no time of day. If it matters, dropped events do not count.
  const kept = table === 'events' ? eventsAndSums(rowFilter) : awardsAndSums(rowFilter);
  const from =
    held === null
      ? kept
      : `(SELECT * FROM ${table} WHERE tenant_no = $1 AND user_id = users.id AND ${where} AND id >= $7::uuid${times(at)})`;
  const [removed, added, key] = held === null ? ['$8', '$9', '$10'] : ['$14', '$15', '$16'];
  const sent = ofMetric?.secondary ?? null;
  const secondary = sent === null ? 'NULL::bigint' : rankNumberSql(`(attributes ->> ${key}::text)`, sent.order);
  const single = `
    SELECT width_bucket(local_date, $4::date[]) AS run, ${value} AS score, id,
           (extract(epoch FROM ${OCCURRED}) * 1000000)::bigint AS reached, ${secondary} AS secondary
      FROM events
     WHERE tenant_no = $1 AND user_id = users.id AND ${where} AND id >= $7::uuid
       AND ${isCounted(removed, added)}${held === null ? '' : times(at)}`;
  const summed = `
    SELECT width_bucket(local_date, $4::date[]) AS run, sum(${value})::numeric AS score, NULL::bigint AS reached
      FROM ${from} AS counted GROUP BY 1`;
  // The sums of days contain an event that is about to be reversed.
  const timed = `
    SELECT run, sums.score,
           coalesce(stored.last, CASE WHEN ${removed}::uuid IS NULL THEN sums.day * 86400000000 END, -stored.first) AS reached
      FROM (SELECT run, sum(score) AS score, max(local_date - date '1970-01-01') FILTER (WHERE score <> 0) AS day
              FROM (SELECT width_bucket(local_date, $4::date[]) AS run, local_date, sum(${value})::numeric AS score
                      FROM ${from} AS counted GROUP BY 1, 2) AS days
             GROUP BY run) AS sums
      LEFT JOIN (SELECT run, max(reached) FILTER (WHERE score <> 0) AS last, min(reached) AS first
                   FROM (${single}) AS counted GROUP BY run) AS stored USING (run)
     WHERE sums.score <> 0 OR stored.run IS NOT NULL`;
  const runs = ofMetric?.fold
    ? `SELECT DISTINCT ON (run) * FROM (${single}) AS counted ORDER BY run, ${ORDER[ofMetric.fold]}`
    : ofMetric?.timed === true
      ? timed
      : ofMetric?.always === true
        ? `SELECT * FROM (${summed}) AS sums
            WHERE score <> 0 OR EXISTS (SELECT FROM (${single}) AS counted WHERE counted.run = sums.run)`
        : summed;
  return `
    SELECT users.id, users.state, ${mayBeEarlier('($5::integer[])[1]')} AS "mayBeEarlier", coalesce((
             SELECT json_agg(json_build_array(($5::integer[])[run], trunc(score), ((score - trunc(score)) * 1000000)::integer,
                                              coalesce(reached, 0)${sent === null ? '' : ', secondary'}))
               FROM (${runs}) AS runs), '[]') AS sums
      FROM users WHERE users.tenant_no = $1 AND users.id = ANY ($2)`;
};

/**
 * The scores of some users on a leaderboard, by run. The highest, lowest or last event is looked for among the stored events:
 * not among those that retention dropped, nor in what an import brought.
 */
export async function historySums(client: Pool | PoolClient, query: HistoryQuery): Promise<HistorySums[]> {
  const { tenantNo, ids, counted, runDays, lastDay, times, changed = {} } = query;
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
  if ('metricNo' in counted && (counted.fold || counted.always === true))
    more.push(changed.removed ?? null, changed.added ?? null);
  if ('metricNo' in counted && counted.secondary) more.push(counted.secondary.key);
  const history = await readSinceDay(runDays[0]!, {
    rows: async (firstId) => {
      const parameters = [...values, firstId, ...more];
      return (await client.query<HistorySums & { mayBeEarlier: boolean }>(statement(counted, times), parameters)).rows;
    },
    missed: (rows) => rows.some((row) => row.mayBeEarlier),
  });
  return history.map(({ id, state, sums }) => ({ id, state, sums }));
}

export interface PastScore {
  userId: string;
  runDay: number;
  group: string;
  score: number;
  /** When the score was reached (epoch, microseconds); 0 if unknown. */
  reached: number;
  /** As of `Member`. */
  secondary: number | null;
}

export async function putPastScores(
  client: PoolClient,
  { tenantNo, boardNo }: { tenantNo: number; boardNo: number },
  scores: readonly PastScore[],
): Promise<void> {
  if (scores.length === 0) return;
  await client.query(
    `INSERT INTO board_past_scores (tenant_no, board_no, user_id, run_day, group_name, score, reached, secondary)
     SELECT $1, $2, * FROM unnest($3::text[], $4::integer[], $5::text[], $6::float8[], $7::bigint[], $8::bigint[])`,
    [
      tenantNo,
      boardNo,
      scores.map(({ userId }) => userId),
      scores.map(({ runDay }) => runDay),
      scores.map(({ group }) => storableText(group)),
      scores.map(({ score }) => score),
      scores.map(({ reached }) => reached),
      scores.map(({ secondary }) => secondary),
    ],
  );
}

/** Creates final runs from collected scores. Runs that are already final stay unchanged. */
export async function rankPastScores(
  client: PoolClient,
  tenantNo: number,
  board: Leaderboard,
  runs: readonly { runDay: number; lastDay: number; finalMs: number }[],
): Promise<void> {
  await client.query(
    `WITH scores AS (
       DELETE FROM board_past_scores WHERE tenant_no = $1 AND board_no = $2 RETURNING run_day, group_name, user_id, score, CASE WHEN $8::boolean THEN reached END AS reached, secondary
     ), made AS (
       INSERT INTO board_runs (tenant_no, board_no, run_day, last_day, final_at, is_final, is_cleared)
       SELECT $1, $2, past.run_day, past.last_day, past.final_at, true, true
         FROM unnest($3::integer[], $4::integer[], $5::timestamptz[]) AS past (run_day, last_day, final_at)
       ON CONFLICT (tenant_no, board_no, run_day) DO NOTHING RETURNING id, run_day
     ), ranked AS (
       SELECT made.id AS run_id, group_name, user_id, score, reached, secondary,
              row_number() OVER best - 1 AS place, CASE WHEN $8 THEN row_number() OVER best
                ELSE rank() OVER (PARTITION BY made.id, group_name ORDER BY score DESC) END AS rank
         FROM scores JOIN made ON made.run_day = scores.run_day
       WINDOW best AS (PARTITION BY made.id, group_name ORDER BY score DESC, secondary DESC, reached, user_id COLLATE "C" DESC)
     ), groups AS (
       INSERT INTO board_run_groups (run_id, name, members, participants, is_done)
       SELECT run_id, group_name, count(*), count(*) FILTER (WHERE $6::integer IS NULL OR rank <= $6), true
         FROM ranked GROUP BY run_id, group_name RETURNING id, run_id, name
     )
     INSERT INTO board_finals (group_id, place, tenant_no, user_id, rank, score, reached, secondary)
     SELECT groups.id, place, $1, user_id, rank, score * $7::integer, reached, secondary
       FROM ranked JOIN groups ON groups.run_id = ranked.run_id AND groups.name = ranked.group_name`,
    [
      tenantNo,
      board.no,
      runs.map(({ runDay }) => runDay),
      runs.map(({ lastDay }) => lastDay),
      runs.map(({ finalMs }) => new Date(finalMs)),
      board.maxParticipants,
      turned(board, 1),
      board.ties === 'first',
    ],
  );
}
