import type { Achievement, PointsBoost, PointsLevel } from '../../domain/catalog.ts';
import type { Caused } from '../../domain/timeline.ts';
import type { TimelineAwardRow, TimelineCompletionRow } from '../../postgres/timeline/causes.ts';
import type { StoredResource, Then } from '../../postgres/timeline/catalog-then.ts';
import type { CatalogThen } from './catalog-then.ts';
import { thenOf, type Happening } from './happening.ts';
import { achievementRule, referredTo, triggerRule } from './rules.ts';
import { scoresOf, type UserNow } from './scores.ts';

/** Reads what the causes of a page are explained with. */
export async function loadCauses(then: CatalogThen, all: readonly Happening[]): Promise<void> {
  await then.load(
    all.flatMap(({ event, recomputation, awards, completions }) => [
      ...(recomputation === null ? [] : [...recomputation.gained, ...recomputation.lost]),
      ...(event === null ? [] : [event.metricNo, ...event.achievementNos]),
      ...awards.flatMap(({ systemNo, triggerNo, boostNos }) => [systemNo, triggerNo, ...boostNos]),
      ...completions.map(({ achievementNo }) => achievementNo),
    ]),
  );
  const asked = all.flatMap((one) => {
    const when = thenOf(one);
    return when === null ? [] : explaining(then, one, when).map((resource) => ({ resource, when }));
  });
  await then.loadThen(asked);
  await then.loadById(asked.flatMap(({ resource, when }) => referredTo(then.at(resource, when))));
  await then.loadFrequencies(all.flatMap((one) => (one.event?.streak ? [thenOf(one)!] : [])));
}

/** The resources that explain what happened. */
function explaining(then: CatalogThen, { event, awards, completions }: Happening, { atMs }: Then): StoredResource[] {
  const nos = [
    ...awards.flatMap(({ triggerNo, boostNos }) => [triggerNo, ...boostNos]),
    ...completions.map(({ achievementNo }) => achievementNo),
  ];
  const moving = event !== null || awards.length > 0;
  return [
    ...nos.map((no) => then.byNo(no)).filter((resource) => resource !== null),
    ...(awards.length > 0 ? then.there('points_level', atMs) : []),
    ...(moving ? then.there('leaderboard', atMs) : []),
  ];
}

/** What something caused, in order: the streak, achievements, awards with the levels they led to, scores on leaderboards. */
export function causedBy(then: CatalogThen, happening: Happening, user: UserNow): Caused[] {
  const when = thenOf(happening);
  if (when === null) return [];
  const { event, awards, completions } = happening;
  const caused: Caused[] = [];
  if (event !== null && event.streak !== null)
    caused.push({ kind: 'streak', length: event.streak, frequency: then.frequency(when) });
  for (const completion of completions) caused.push({ kind: 'achievement', ...completedOf(then, completion, when) });
  for (const award of awards) caused.push(awardOf(then, award, when), ...levelOf(then, award, when));
  return [...caused, ...scoresOf(then, happening, { when, user })];
}

/** What was completed, and by which rule. */
export function completedOf(
  then: CatalogThen,
  { achievementNo }: TimelineCompletionRow,
  when: Then,
): Pick<Extract<Caused, { kind: 'achievement' }>, 'achievement' | 'rule'> {
  const resource = then.byNo(achievementNo);
  return {
    achievement: then.namedNo(achievementNo),
    rule: resource === null ? null : achievementRule(then, then.at(resource, when)),
  };
}

/** By which kind of rule an achievement was completed; null: that is not known. */
export function triggerOf(then: CatalogThen, { achievementNo }: TimelineCompletionRow): Achievement['trigger'] | null {
  const resource = then.byNo(achievementNo);
  return resource === null ? null : (resource.doc as Achievement).trigger;
}

function awardOf(then: CatalogThen, award: TimelineAwardRow, when: Then): Caused {
  const trigger = then.byNo(award.triggerNo);
  return {
    kind: 'award',
    id: award.id,
    pointsSystem: then.namedNo(award.systemNo),
    awarded: award.awarded,
    total: award.total,
    triggerId: trigger?.id ?? null,
    rule: trigger === null ? null : triggerRule(then, then.at(trigger, when)),
    boosts: award.boostNos.map((no) => {
      const boost = then.byNo(no);
      const was = boost === null ? null : then.at(boost, when);
      const multiplier = was?.known === true ? (was.doc as PointsBoost).multiplier : null;
      return { id: boost?.id ?? null, name: then.namedNo(no).name, multiplier };
    }),
  };
}

/** The level that an award led to, by the levels that there were; nothing where it is the one before. */
function levelOf(then: CatalogThen, { systemNo, awarded, total }: TimelineAwardRow, when: Then): Caused[] {
  const system = then.byNo(systemNo);
  const levels = then
    .there('points_level', when.atMs)
    .map((resource) => ({ resource, level: then.at(resource, when).doc as PointsLevel }))
    .filter(({ level }) => level.systemId === system?.id)
    .toSorted((a, b) => a.level.points - b.level.points);
  const reached = (points: number): StoredResource | null =>
    levels.findLast(({ level }) => level.points <= points)?.resource ?? null;
  const [before, after] = [reached(total - awarded), reached(total)];
  if (before === after) return [];
  return [
    {
      kind: 'level',
      pointsSystem: then.namedNo(systemNo),
      level: after && then.named(after.id),
      previousLevel: before && then.named(before.id),
    },
  ];
}
