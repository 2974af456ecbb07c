import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { achievementsOfMetrics } from '../../catalog/lookups.ts';
import type { Leaderboard, Metric } from '../../domain/catalog.ts';
import { epochDay } from '../../domain/periods.ts';
import { runOf } from '../../domain/runs.ts';
import { AppError } from '../../errors.ts';
import { mappedInSlices } from '../../pacing/slices.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { groupOf } from '../../rules/leaderboards.ts';
import type { User } from '../../rules/user.ts';
import { findMetric } from '../find-configured.ts';
import { showsTo, userAchievementJson } from '../responses/achievements.ts';
import { packedUser, packedUsers } from '../../redis/parts.ts';
import { decimalNumber, ZERO } from '../../domain/decimal.ts';

export class UserReads {
  private readonly redis: Redis;

  constructor(redis: Redis) {
    this.redis = redis;
  }

  async state(tenantNo: number, userId: string): Promise<User> {
    const packed = await packedUser(this.redis, tenantNo, userId);
    if (packed === null)
      throw new AppError('not_found', `Unknown user: no event and no call has named '${userId}' yet.`);
    return decodeUser(packed);
  }

  /** The user's state; `null` for an unknown user. */
  async find(tenantNo: number, userId: string): Promise<User | null> {
    const packed = await packedUser(this.redis, tenantNo, userId);
    return packed === null ? null : decodeUser(packed);
  }

  async withAddress(tenantNo: number, userIds: string[]): Promise<ReadonlySet<string>> {
    const states = await packedUsers(this.redis, tenantNo, userIds);
    return new Set(userIds.filter((_, index) => states[index] && decodeUser(states[index]).email));
  }

  /** JSON text of a user's total of a metric, with the metric's achievements. Throws 404 for an unknown user or metric. */
  async metric(
    compiled: CompiledCatalog,
    userId: string,
    { metricKey, ...as }: { metricKey: string; nowMs: number; seesSecrets?: boolean },
  ): Promise<string> {
    const metric = findMetric(compiled, metricKey);
    return metricJson(compiled, metric, { state: await this.state(compiled.catalog.tenantNo, userId), ...as });
  }

  /** JSON text of a user's totals of all metrics, oldest metric first, 0 without events. Throws 404 for an unknown user. */
  async metrics(
    compiled: CompiledCatalog,
    userId: string,
    as: { nowMs: number; seesSecrets?: boolean },
  ): Promise<string> {
    const state = await this.state(compiled.catalog.tenantNo, userId);
    const texts = await mappedInSlices(compiled.catalog.metrics, (metric) =>
      metricJson(compiled, metric, { state, ...as }),
    );
    return `[${texts.join(',')}]`;
  }
}

/** JSON text of a `MetricResponse`. */
function metricJson(
  compiled: CompiledCatalog,
  metric: Metric,
  { state, nowMs, seesSecrets = true }: { state: User; nowMs: number; seesSecrets?: boolean },
): string {
  const achievements = (achievementsOfMetrics(compiled.catalog.achievements).get(metric.id) ?? [])
    .filter(
      (achievement) =>
        showsTo(achievement, state) &&
        // Its place in this list would reveal the metric.
        (seesSecrets || !achievement.secret || state.completions.has(achievement.no)),
    )
    .map((achievement) => userAchievementJson(compiled, achievement, state, { nowMs }));
  const current = decimalNumber(state.totals.get(metric.no) ?? ZERO);
  return `${openMetricJson(metric)},"current":${current},"achievements":[${achievements.join(',')}]}`;
}

const openMetrics = new WeakMap<Metric, string>();

/** The JSON text of what is the same for all users, without the closing brace. */
function openMetricJson(metric: Metric): string {
  let text = openMetrics.get(metric);
  if (text === undefined) {
    const { id, key, name } = metric;
    text = JSON.stringify({ id, key, name, status: 'active' }).slice(0, -1);
    openMetrics.set(metric, text);
  }
  return text;
}

/** A user's group on a board; `null` if a value is missing. */
export const groupOfUser = (
  { attributesById }: CompiledCatalog,
  { breakdownAttributes }: Leaderboard,
  user: Pick<User, 'attributes'>,
): string | null => groupOf({ groups: breakdownAttributes.map((id) => attributesById.get(id)?.no ?? 0) }, user);

/**
 * Keys of the leaderboards with a breakdown on whose current run the user's score is in another group than that of the
 * user's attributes; the user's next event moves it. A run counts as current from a day before its first day to a day
 * after its last, since that is today in some zone. O(leaderboards).
 */
export function pendingLeaderboards(compiled: CompiledCatalog, state: User, nowMs: number): string[] {
  const today = epochDay(nowMs);
  return compiled.catalog.leaderboards.flatMap((board) => {
    if (board.breakdownAttributes.length === 0 || (board.status !== 'active' && board.status !== 'scheduled'))
      return [];
    const current = new Set([today - 1, today, today + 1].map((day) => runOf(board, day)?.startDay));
    const scores = state.scores.filter((score) => score.board === board.no && current.has(score.runDay));
    const group = groupOfUser(compiled, board, state);
    return scores.some((score) => score.group !== group) ? [board.key] : [];
  });
}
