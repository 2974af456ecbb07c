import type { PoolClient } from 'pg';
import { compileAchievement } from '../../catalog/compile/achievements.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { type Achievement, neededBy } from '../../domain/catalog.ts';
import { decimalText, toDecimal, toMicros } from '../../domain/decimal.ts';
import { daysOf } from '../../domain/repeat.ts';
import { packedCompletion } from '../../packed/packed-arrays.ts';
import { COMPENSATED } from '../../packed/record-fields.ts';
import type { Compensated } from '../../packed/record.ts';
import {
  readAwardsOf,
  readCompletions,
  type StoredCompletion,
  type StoredEvent,
} from '../../postgres/corrections/reversals.ts';
import type { PlanAchievement } from '../../rules/plan.ts';
import type { Revocation } from '../../rules/reversal.ts';
import { periodSums } from '../achievements/quests.ts';
import { countedPeriods } from './planned-reversal.ts';

/** The achievements that a reversal revokes, each before those that require it. These are the achievements that the
 * event completed, those completed by reversed events for which this event may still have qualified the user, and
 * those that need one of them, whenever completed. Those that only calls complete stay. `awards`: the event's own awards.
 */
export async function revocationsOf(
  client: PoolClient,
  compiled: CompiledCatalog,
  event: StoredEvent,
  awards: readonly Compensated[],
): Promise<Revocation[]> {
  const { tenantNo, triggers, pointsSystems } = compiled.catalog;
  const { userId } = event;
  const completions = await readCompletions(client, tenantNo, event);
  const missed = await missedPeriods(client, compiled, event, completions);
  const once = completions.filter(({ period }) => period === 0);
  const completed = new Map(once.map((completion) => [completion.achievementNo, completion]));
  const { own: caused, following } = cascade(
    compiled,
    event,
    completed,
    missed.map(({ achievement }) => achievement),
  );
  const gone = [
    ...missed,
    ...[...caused, ...following].map((achievement) => ({ achievement, completion: completed.get(achievement.no)! })),
  ];
  const ids = new Set(gone.map(({ achievement: { id } }) => id));
  const systemNos = new Map(pointsSystems.map(({ id, no }) => [id, no]));
  const paying = triggers.filter(
    ({ type, achievementId }) => type === 'achievement' && achievementId !== null && ids.has(achievementId),
  );
  const awarded = await readAwardsOf(client, {
    tenantNo,
    userId,
    triggers: paying.map(({ no, systemId }) => ({ no, systemNo: systemNos.get(systemId) ?? 0 })),
    timesMs: gone.map(({ completion }) => completion.atMs),
  });
  const own = new Set(awards.map((award) => award[COMPENSATED.award]));
  const paidBy = new Map(paying.map(({ no, achievementId }) => [no, achievementId]));
  return gone.map(({ achievement, completion }) => ({
    ...(completion.period === 0
      ? { achievement: revocable(compiled, achievement, following.includes(achievement)) }
      : ofQuest(completion, completions)),
    awards: awarded.filter(
      (award) =>
        !own.has(award[COMPENSATED.award]) &&
        paidBy.get(award[COMPENSATED.trigger]) === achievement.id &&
        (completion.period === 0 || award[COMPENSATED.atMs] === completion.atMs),
    ),
  }));
}

/** An achievement as the rules check whether it stays. One that only follows from others stays if the user still has those. */
function revocable(compiled: CompiledCatalog, achievement: Achievement, isFollowing: boolean): PlanAchievement {
  const plan = compileAchievement(compiled, achievement);
  if (!isFollowing || plan.requires === undefined) return plan;
  return { no: plan.no, of: [...(plan.of ?? []), ...plan.requires] };
}

/** The revocation of a repeating achievement's completion, without awards. */
function ofQuest(
  completion: StoredCompletion,
  completions: readonly StoredCompletion[],
): Pick<Revocation, 'achievement' | 'period' | 'latest'> {
  const { achievementNo: no, atMs, period } = completion;
  const others = completions.filter((each) => each.achievementNo === no && each.period !== period);
  return {
    achievement: { no },
    period: packedCompletion(no, atMs, period),
    ...(others.length > 0 && { latest: Math.max(...others.map((each) => each.atMs)) }),
  };
}

/** The completions by the event whose periods no longer suffice without it. */
async function missedPeriods(
  client: PoolClient,
  compiled: CompiledCatalog,
  event: StoredEvent,
  completions: readonly StoredCompletion[],
): Promise<{ achievement: Achievement; completion: StoredCompletion }[]> {
  const { userId, value } = event;
  const missed: { achievement: Achievement; completion: StoredCompletion }[] = [];
  for (const [quest, period] of countedPeriods(compiled, event)) {
    const completion = completions.find((each) => each.achievementNo === quest.no && each.period === period);
    if (completion?.ofEvent !== true) continue;
    const days = daysOf(quest, period, compiled.catalog.streaks.weekStart);
    const sums = await periodSums(client, compiled, { quest, ids: [userId], days });
    const remaining = (sums.get(userId)?.get(period) ?? 0n) - toMicros(value);
    if (remaining < toMicros(decimalText(toDecimal(quest.metricValue ?? 0))))
      missed.push({ achievement: quest, completion });
  }
  return missed;
}

function cascade(
  { catalog }: CompiledCatalog,
  event: StoredEvent,
  completed: ReadonlyMap<number, StoredCompletion>,
  missed: readonly Achievement[],
): { own: Achievement[]; following: Achievement[] } {
  const metricId = catalog.metrics.find(({ no }) => no === event.metricNo)?.id;
  const own = catalog.achievements.filter(({ no, trigger, metricId: counted }) => {
    const completion = completed.get(no);
    const ofMetric = trigger === 'metric' && counted === metricId;
    return completion?.ofEvent === true && (ofMetric || trigger === 'streak');
  });
  const ids = new Set([...own, ...missed].map(({ id }) => id));
  const following: Achievement[] = [];
  for (let more = [...own, ...missed]; more.length > 0;) {
    more = catalog.achievements.filter(
      (achievement) =>
        achievement.trigger !== 'api' &&
        !ids.has(achievement.id) &&
        completed.has(achievement.no) &&
        neededBy(achievement).some((needed) => ids.has(needed)),
    );
    for (const achievement of more) {
      following.push(achievement);
      ids.add(achievement.id);
    }
  }
  return { own, following };
}
