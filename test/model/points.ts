import type { Catalog, PointsBoost, PointsLevel, PointsTrigger } from '../../src/domain/catalog.ts';
import { named } from './conditions.ts';
import { micros, multiplied } from './decimals.ts';
import { matches, outstanding, peakOf, pointsOf, type Award, type ModelUser } from './user.ts';

const DAY_MS = 86_400_000;

/** The effect of one step of a user, which triggers examine. */
export interface Step {
  atMs: number;
  date: string;
  time: string;
  created: boolean;
  /** The user before the step's event; the same as after without one. */
  before: ModelUser;
  after: ModelUser;
  /** The streak's new length if the step extended it. */
  extendedTo: number | null;
  completed: readonly string[];
  /** The `time` triggers of which a period ended. */
  ended?: readonly string[];
  /** The triggers for a final rank that the user has. */
  ranked?: readonly string[];
}

const ORDER: readonly PointsTrigger['type'][] = ['user_creation', 'metric', 'streak', 'achievement', 'time'];

interface Fired {
  trigger: PointsTrigger;
  points: number;
}

/** The triggers of a system that fire, in order, with their points before boosts. */
function fired(catalog: Catalog, systemId: string, step: Step): Fired[] {
  const byType = ORDER.flatMap((type) => catalog.triggers.filter((trigger) => trigger.type === type));
  // Those for final ranks come first.
  return byType
    .toSorted((a, b) => Number(a.leaderboardId === null) - Number(b.leaderboardId === null))
    .filter(({ systemId: of, status }) => of === systemId && status === 'active')
    .filter(({ userAttributes }) => matches(step.after.attributes, named(catalog, userAttributes)))
    .map((trigger) => ({ trigger, points: trigger.points * times(catalog, trigger, step) }))
    .filter(({ points }) => points !== 0);
}

function times(catalog: Catalog, trigger: PointsTrigger, step: Step): number {
  switch (trigger.type) {
    case 'user_creation':
      return step.created ? 1 : 0;
    case 'streak':
      return step.extendedTo !== null && step.extendedTo % trigger.streakLength! === 0 ? 1 : 0;
    case 'achievement':
      if (trigger.leaderboardId !== null) return step.ranked?.includes(trigger.id) === true ? 1 : 0;
      return step.completed.includes(trigger.achievementId!) ? 1 : 0;
    case 'time':
      return step.ended?.includes(trigger.id) === true ? 1 : 0;
    case 'metric': {
      const only = named(catalog, trigger.eventAttributes);
      const multiples = (user: ModelUser): number =>
        Number(peakOf(user, trigger.metricId!, only) / micros(trigger.metricThreshold!));
      return multiples(step.after) - multiples(step.before);
    }
  }
}

const applies = (catalog: Catalog, boost: PointsBoost, { after, date }: Step): boolean =>
  boost.start <= date &&
  (boost.end === null || date <= boost.end) &&
  (boost.userId === null || boost.userId === after.id) &&
  matches(after.attributes, named(catalog, boost.userAttributes));

/** Whether a blocking trigger would take more than there is. A user's first points count. */
export function isOutOfPoints(catalog: Catalog, step: Step): boolean {
  return catalog.pointsSystems.some(({ id }) => {
    const all = fired(catalog, id, step);
    const first = all.filter(({ trigger }) => trigger.type === 'user_creation');
    const earned = pointsOf({ ...step.before, awards: awardsOf(catalog, id, first, step) }, id);
    let balance = earned - outstanding(step.before, id, step.atMs);
    return all.some(({ trigger, points }) => {
      if (!trigger.blockIfOutOfPoints || points > 0) return false;
      balance += points;
      return balance < 0;
    });
  });
}

/** The awards of a step by system, in order, and the IDs of all levels that the user has reached after it. */
export function awards(catalog: Catalog, step: Step): { bySystem: ReadonlyMap<string, Award[]>; levels: string[] } {
  const ids = catalog.pointsSystems.map(({ id }) => id);
  const firedIn = new Map(ids.map((id) => [id, fired(catalog, id, step)]));
  const awardsIn = (id: string): Award[] => awardsOf(catalog, id, firedIn.get(id)!, step);
  const triggers = catalog.triggers.filter(
    ({ pointsSystemId, status }) => pointsSystemId !== null && status === 'active',
  );
  const counts = (trigger: PointsTrigger, level: PointsLevel): boolean =>
    trigger.pointsSystemId === level.systemId && (trigger.levelKey === null || trigger.levelKey === level.key);
  const levels = [...step.before.levels];
  for (;;) {
    const reached = catalog.levels.filter(
      (level) =>
        !levels.includes(level.id) &&
        triggers.some((trigger) => counts(trigger, level)) &&
        level.points > pointsOf(step.before, level.systemId) &&
        level.points <= pointsOf({ ...step.before, awards: awardsIn(level.systemId) }, level.systemId),
    );
    if (reached.length === 0) break;
    levels.push(...reached.map(({ id }) => id));
    for (const trigger of triggers.filter((one) =>
      matches(step.after.attributes, named(catalog, one.userAttributes)),
    )) {
      const points = trigger.points * reached.filter((level) => counts(trigger, level)).length;
      if (points !== 0) firedIn.get(trigger.systemId)!.push({ trigger, points });
    }
  }
  const earlier = (id: string): number => step.before.awards.filter(({ systemId }) => systemId === id).length;
  return { bySystem: new Map(ids.map((id) => [id, awardsIn(id).slice(earlier(id))])), levels };
}

function awardsOf(catalog: Catalog, systemId: string, all: readonly Fired[], step: Step): Award[] {
  const { maxPoints } = catalog.pointsSystems.find(({ id }) => id === systemId)!;
  const result = step.before.awards.filter((award) => award.systemId === systemId);
  let total = pointsOf(step.before, systemId);
  for (const { trigger, points } of all) {
    const boosts = points > 0 ? catalog.boosts.filter((b) => b.systemId === systemId && applies(catalog, b, step)) : [];
    const rounding = (['down', 'nearest', 'up'] as const).find((way) => boosts.some((boost) => boost.rounding === way));
    const boosted = multiplied(
      points,
      boosts.map(({ multiplier }) => multiplier),
      rounding ?? 'down',
    );
    const capped = Math.min(total + boosted, Math.max(total, maxPoints ?? Infinity));
    const awarded = Math.max(0, capped) - total;
    if (awarded === 0) continue;
    total += awarded;
    const { atMs, date, time } = step;
    const boostIds = boosts.map(({ id }) => id).toSorted();
    result.push({
      atMs,
      date,
      time,
      systemId,
      triggerId: trigger.id,
      awarded,
      total,
      boostIds,
      team: step.after.attributes['plan'] ?? '',
    });
  }
  return result;
}

/** The key of the highest level that this many points reach; null: none. */
export function levelOf(catalog: Catalog, systemId: string, total: number): string | null {
  const reached = catalog.levels.filter((level) => level.systemId === systemId && level.points <= total);
  return reached.sort((a, b) => b.points - a.points)[0]?.key ?? null;
}

/** The starts of UTC days at which points of a catalog may expire. */
export function expiryTimes(
  { pointsSystems }: Catalog,
  { afterMs, toMs }: { afterMs: number; toMs: number },
): readonly number[] {
  if (pointsSystems.every(({ expiresAfterDays }) => expiresAfterDays === null)) return [];
  const first = Math.floor(afterMs / DAY_MS) + 1;
  const count = Math.max(0, Math.floor(toMs / DAY_MS) - first + 1);
  return Array.from({ length: count }, (_, nth) => (first + nth) * DAY_MS);
}

/** Lets what is left of a user's oldest points expire, as if it was spent. Holds that are open at `nowMs` keep theirs. */
export function expire(
  { pointsSystems }: Catalog,
  user: ModelUser,
  { midnightMs, nowMs }: { midnightMs: number; nowMs: number },
): void {
  for (const { id: systemId, expiresAfterDays } of pointsSystems) {
    if (expiresAfterDays === null) continue;
    const later = user.awards.filter(
      ({ systemId: of, awarded, atMs }) =>
        of === systemId && awarded > 0 && atMs >= midnightMs - expiresAfterDays * DAY_MS,
    );
    const balance = pointsOf(user, systemId) - outstanding(user, systemId, nowMs);
    const left = later.reduce((sum, { awarded }) => sum + awarded, 0);
    const amount = balance - left;
    if (amount <= 0) continue;
    const id = `expired at ${midnightMs}`;
    user.spendings.push({ id, systemId, amount, key: id, expiresMs: null, balance: left, closed: [] });
  }
}
