import type { PoolClient } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Compensated } from '../../packed/record.ts';
import { COMPENSATED } from '../../packed/record-fields.ts';
import {
  readAwardsOf,
  readCompletions,
  type StoredCompletion,
  type StoredEvent,
} from '../../postgres/corrections/read-reversible.ts';

/**
 * The achievements that go with an event: those that it completed, then composites that need one of these, whenever they were
 * completed, to a fixed point; and what all of them awarded beyond what the event itself did.
 */
export async function revocationsOf(
  client: PoolClient,
  compiled: CompiledCatalog,
  { event, awards }: { event: StoredEvent; awards: readonly Compensated[] },
): Promise<{ revoked: number[]; awards: Compensated[] }> {
  const { tenantNo, achievements, triggers, pointsSystems } = compiled.catalog;
  const { userId } = event;
  const completions = await readCompletions(client, { tenantNo, userId });
  const revoked = cascade(compiled, event, completions);
  const gone = new Set(achievements.filter(({ no }) => revoked.has(no)).map(({ id }) => id));
  const systemNos = new Map(pointsSystems.map(({ id, no }) => [id, no]));
  const paying = triggers
    .filter(({ type, achievementId }) => type === 'achievement' && achievementId !== null && gone.has(achievementId))
    .map(({ no, systemId }) => ({ no, systemNo: systemNos.get(systemId) ?? 0 }));
  const timesMs = completions.filter(({ achievementNo }) => revoked.has(achievementNo)).map(({ atMs }) => atMs);
  const others = paying.length === 0 ? [] : await readAwardsOf(client, { tenantNo, userId, triggers: paying, timesMs });
  const own = new Set(awards.map((award) => award[COMPENSATED.award]));
  return { revoked: [...revoked], awards: others.filter((award) => !own.has(award[COMPENSATED.award])) };
}

function cascade(
  { catalog }: CompiledCatalog,
  event: StoredEvent,
  completions: readonly StoredCompletion[],
): Set<number> {
  const completedMs = new Map(completions.map(({ achievementNo, atMs }) => [achievementNo, atMs]));
  const metricId = catalog.metrics.find(({ no }) => no === event.metricNo)?.id;
  const revoked = new Set<number>();
  const ids = new Set<string>();
  for (const { no, id, trigger, metricId: counted } of catalog.achievements) {
    const isOfEvent = trigger === 'streak' || (trigger === 'metric' && counted === metricId);
    if (!isOfEvent || completedMs.get(no) !== event.atMs) continue;
    revoked.add(no);
    ids.add(id);
  }
  for (let grown = ids.size > 0; grown;) {
    grown = false;
    for (const { no, id, trigger, achievementIds } of catalog.achievements) {
      if (trigger !== 'achievement' || ids.has(id) || !completedMs.has(no)) continue;
      if (!achievementIds.some((needed) => ids.has(needed))) continue;
      revoked.add(no);
      ids.add(id);
      grown = true;
    }
  }
  return revoked;
}
