import type { PoolClient } from 'pg';
import { compileAchievement } from '../../catalog/compile/achievements.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Achievement } from '../../domain/catalog.ts';
import type { Compensated } from '../../packed/record.ts';
import { COMPENSATED } from '../../packed/record-fields.ts';
import {
  readAwardsOf,
  readCompletions,
  type StoredCompletion,
  type StoredEvent,
} from '../../postgres/corrections/reversals.ts';
import type { Revocation } from './planned-reversal.ts';

/**
 * The achievements that go with an event, each before those that need it: those that it completed, and those
 * that events completed which are reversed, for which the user may have qualified by this one still; then composites that need
 * one of these, whenever they were completed. `awards`: what the event itself awarded.
 */
export async function revocationsOf(
  client: PoolClient,
  compiled: CompiledCatalog,
  { event, awards }: { event: StoredEvent; awards: readonly Compensated[] },
): Promise<Revocation[]> {
  const { tenantNo, triggers, pointsSystems } = compiled.catalog;
  const { userId } = event;
  const completions = await readCompletions(client, tenantNo, event);
  const completed = new Map(completions.map((completion) => [completion.achievementNo, completion]));
  const gone = cascade(compiled, event, completed);
  const ids = new Set(gone.map(({ id }) => id));
  const systemNos = new Map(pointsSystems.map(({ id, no }) => [id, no]));
  const paying = triggers.filter(
    ({ type, achievementId }) => type === 'achievement' && achievementId !== null && ids.has(achievementId),
  );
  const others = await readAwardsOf(client, {
    tenantNo,
    userId,
    triggers: paying.map(({ no, systemId }) => ({ no, systemNo: systemNos.get(systemId) ?? 0 })),
    timesMs: gone.map(({ no }) => completed.get(no)!.atMs),
  });
  const own = new Set(awards.map((award) => award[COMPENSATED.award]));
  const paidBy = new Map(paying.map(({ no, achievementId }) => [no, achievementId]));
  return gone.map((achievement) => ({
    achievement: compileAchievement(compiled, achievement),
    awards: others.filter(
      (award) => !own.has(award[COMPENSATED.award]) && paidBy.get(award[COMPENSATED.trigger]) === achievement.id,
    ),
  }));
}

function cascade(
  { catalog }: CompiledCatalog,
  event: StoredEvent,
  completed: ReadonlyMap<number, StoredCompletion>,
): Achievement[] {
  const metricId = catalog.metrics.find(({ no }) => no === event.metricNo)?.id;
  const gone = catalog.achievements.filter(({ no, trigger, metricId: counted }) => {
    const completion = completed.get(no);
    const ofMetric = trigger === 'metric' && counted === metricId;
    return completion?.ofEvent === true && (ofMetric || trigger === 'streak');
  });
  const ids = new Set(gone.map(({ id }) => id));
  for (let more = gone; more.length > 0;) {
    more = catalog.achievements.filter(
      ({ no, id, trigger, achievementIds }) =>
        trigger === 'achievement' &&
        !ids.has(id) &&
        completed.has(no) &&
        achievementIds.some((needed) => ids.has(needed)),
    );
    for (const achievement of more) {
      gone.push(achievement);
      ids.add(achievement.id);
    }
  }
  return gone;
}
