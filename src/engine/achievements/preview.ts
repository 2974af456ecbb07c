import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CatalogIndex } from '../../catalog/catalog-index.ts';
import { compilePreviewPlan } from '../../catalog/compile/plans.ts';
import type { Clock } from '../../clock.ts';
import { latestSignUp } from '../../domain/anniversary.ts';
import type { Achievement } from '../../domain/catalog.ts';
import { clamped, type Decimal, decimalOfMicros, parseDecimal } from '../../domain/decimal.ts';
import { epochDay } from '../../domain/periods.ts';
import { isQuest, periodOf } from '../../domain/repeat.ts';
import { dayIn } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import { COUNTER } from '../../packed/call-fields.ts';
import { storedStates } from '../../postgres/users/stored-states.ts';
import { sampleUsers, within } from '../../postgres/users/selections.ts';
import { listUsers } from '../../postgres/users/user-search.ts';
import { statesInSlices, tenantCounters } from '../../redis/parts.ts';
import { qualifies } from '../../rules/achievements.ts';
import type { Plan, PlanAchievement } from '../../rules/plan.ts';
import { localDayOf, settleUser } from '../../rules/streaks.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { dayOfUser, type User } from '../../rules/user.ts';
import type { CaughtUp } from '../persist/caught-up-reads.ts';
import { matchingSums, periodSums } from './quests.ts';

interface AchievementPreviewOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  caughtUp: Pick<CaughtUp, 'tenant'>;
}

interface Preview {
  /** `null` if it is unknown; `reason` says why. */
  users: number | null;
  /** The tenant's number of users. */
  of: number;
  figure: Examined['figure'];
  examined: number;
  /** IDs of some users who would have it. */
  sample: string[];
  reason: string | null;
}

/** Users whose matching events are counted together. */
const USERS_A_PAGE = 100;
/** The answer covers the users that can be examined in this time. */
const TIME_MS = 3_000;
/** Maximum number of users that the answer names. */
const NAMED = 10;
/** Maximum number of previews that wait in a process. A process makes one at a time. */
const MOST_WAITING = 4;

const BY_CALL = 'Your own calls complete this achievement; history does not say for whom.';
const TOO_SLOW = 'The matching events could not be counted in time: there are too many.';

/**
 * Counts the users who would have an achievement if it were active, by the rule that completes achievements. Changes
 * nothing. The cost is bounded: at most a sample of the users, 3 s, and one preview at a time in each process.
 */
export class AchievementPreview {
  private readonly options: AchievementPreviewOptions;
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(options: AchievementPreviewOptions) {
    this.options = options;
  }

  /** Previews an achievement of the catalog, or a new one with an unused number. Throws 503 if too many previews wait. */
  async of(catalogIndex: CatalogIndex, achievement: Achievement): Promise<Preview> {
    if (this.waiting > MOST_WAITING) throw new AppError('unavailable', 'Too many previews are being made; try again');
    this.waiting += 1;
    const turn = this.last.then(() => this.count(catalogIndex, achievement));
    this.last = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      this.waiting -= 1;
    }
  }

  private async count(catalogIndex: CatalogIndex, achievement: Achievement): Promise<Preview> {
    const { redis, pool, caughtUp } = this.options;
    const { tenantNo } = catalogIndex.catalog;
    const [of = 0] = await tenantCounters(redis, tenantNo, [COUNTER.users]);
    const nothing = { users: null, of, figure: 'exact', examined: 0, sample: [] } as const;
    if (achievement.trigger === 'api') return { ...nothing, sample: [], reason: BY_CALL };
    await caughtUp.tenant(tenantNo);
    const { ids, figure } = await usersToExamine(pool, { tenantNo, of });
    const { examined, holders } = await this.holders(catalogIndex, achievement, ids);
    if (examined === 0 && ids.length > 0) return { ...nothing, sample: [], reason: TOO_SLOW };
    // The IDs are in random order, so the first ones are a random sample.
    const cut: Examined['figure'] = figure === 'exact' && examined < ids.length ? 'estimate' : figure;
    const share = examined === 0 ? 0 : holders.length / examined;
    const users = cut === 'estimate' ? Math.round(share * of) : holders.length;
    return { users, of, figure: cut, examined, sample: holders.slice(0, NAMED).toSorted(), reason: null };
  }

  private async holders(
    catalogIndex: CatalogIndex,
    achievement: Achievement,
    ids: readonly string[],
  ): Promise<{ examined: number; holders: string[] }> {
    const { redis, clock } = this.options;
    const { tenantNo } = catalogIndex.catalog;
    const nowMs = clock.now();
    const plan = compilePreviewPlan(catalogIndex, achievement, epochDay(nowMs));
    const endMs = performance.now() + TIME_MS;
    const holders: string[] = [];
    let examined = 0;
    while (examined < ids.length && performance.now() < endMs) {
      const some = ids.slice(examined, examined + USERS_A_PAGE);
      const counts = await this.counts(catalogIndex, achievement, some, endMs - performance.now());
      if (counts === null) break;
      for await (const { userId, packed } of statesInSlices(redis, tenantNo, some)) {
        if (packed === null) continue;
        if (wouldHave(decodeUser(packed), plan, nowMs, counts.get(userId) ?? null)) holders.push(userId);
      }
      examined += some.length;
    }
    return { examined, holders };
  }

  /** Totals of matching events if not all events match, by user. `null` if time ran out. */
  private async counts(
    catalogIndex: CatalogIndex,
    achievement: Achievement,
    ids: string[],
    leftMs: number,
  ): Promise<Map<string, Decimal> | null> {
    const { trigger, eventAttributes } = achievement;
    if (trigger !== 'metric') return new Map();
    if (isQuest(achievement)) return this.currentSums(catalogIndex, achievement, ids, leftMs);
    if (eventAttributes.length === 0) return new Map();
    const rows = await within(this.options.pool, Math.max(1, Math.ceil(leftMs)), (client) =>
      matchingSums(client, catalogIndex, achievement, ids),
    );
    return rows && new Map(rows.map(({ id, count }) => [id, clamped(parseDecimal(count))]));
  }

  /** The same of a repeating achievement: the sums of the users' current periods. */
  private async currentSums(
    catalogIndex: CatalogIndex,
    quest: Achievement,
    ids: string[],
    leftMs: number,
  ): Promise<Map<string, Decimal> | null> {
    const { tenantNo, streaks } = catalogIndex.catalog;
    const nowMs = this.options.clock.now();
    return within(this.options.pool, Math.max(1, Math.ceil(leftMs)), async (client) => {
      const sums = await periodSums(client, catalogIndex, { quest, ids });
      const states = await storedStates(client, tenantNo, ids);
      return new Map(
        Array.from(states, ([id, state]) => {
          const today = dayIn(decodeUser(state).zone, nowMs);
          const period = periodOf(quest, today, streaks.weekStart);
          const sum = (period === null ? undefined : sums.get(id)?.get(period)) ?? 0n;
          return [id, clamped(decimalOfMicros(sum))];
        }),
      );
    });
  }
}

/**
 * Whether a user has the plan's achievement, or would complete it by the activity so far. Changes `user`. `count`: the total of the
 * matching events, if not all events match.
 */
function wouldHave(user: User, plan: Plan, nowMs: number, count: Decimal | null): boolean {
  const [achievement] = plan.achievements as [PlanAchievement];
  const { no, years } = achievement;
  const day = dayOfUser(user, nowMs);
  settleUser(user, plan.streak, localDayOf(plan, day));
  if (count !== null) user.counts.set(no, { ...count, peak: null });
  // Years are stored only while the catalog has anniversaries.
  if (user.signUp !== null && years !== undefined)
    user.signUp.years = user.signUp.day <= latestSignUp(day, years) ? years : 0;
  return user.completions.has(no) || qualifies(achievement, user);
}

interface Examined {
  ids: string[];
  /** `exact`: all users; `estimate`: a random sample; `atLeast`: the first by ID. */
  figure: 'exact' | 'estimate' | 'atLeast';
}

/** Above this number of users, a sample is examined. */
const MOST = 10_000;
/** Smallest useful sample. */
const LEAST = 1_000;
/** Sampling draws pages, not users. This reserve makes a sample that is too small rare. */
const RESERVE = 1.2;
const SAMPLING_MS = 1_000;

/** A bounded sample of a tenant's users, or all if they are few. `of`: the tenant's number of users. */
export async function usersToExamine(
  pool: Pool,
  { tenantNo, of, most = MOST }: { tenantNo: number; of: number; most?: number },
): Promise<Examined> {
  if (of > most) {
    const percent = Math.min(100, (100 * RESERVE * most) / of);
    const drawn = await within(pool, SAMPLING_MS, (client) => sampleUsers(client, tenantNo, percent));
    if (drawn !== null && drawn.length >= Math.min(LEAST, most))
      return { ids: shuffled(drawn).slice(0, most), figure: 'estimate' };
  }
  const ids = await listUsers(pool, { tenantNo, after: null, order: 'asc', limit: most + 1, skip: 0 });
  return { ids: shuffled(ids.slice(0, most)), figure: ids.length > most ? 'atLeast' : 'exact' };
}

function shuffled(ids: string[]): string[] {
  for (let last = ids.length - 1; last > 0; last -= 1) {
    const other = Math.floor(Math.random() * (last + 1));
    [ids[last], ids[other]] = [ids[other]!, ids[last]!];
  }
  return ids;
}
