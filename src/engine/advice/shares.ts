import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { triggersOfSystems } from '../../catalog/lookups.ts';
import { COUNTED, SEGMENT } from '../../domain/analytics.ts';
import type { PointsSystem, PointsTrigger } from '../../domain/catalog.ts';
import type { Finding } from '../../domain/administration/advice.ts';
import { kindOf } from '../../domain/fields/points.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { groupedBy } from '../../grouped.ts';
import { type AnalyticsSum, readSumsTogether } from '../../postgres/analytics.ts';
import { comparedDays } from '../analytics/analytics-range.ts';
import { inRange } from '../analytics/figures.ts';
import { names } from './finding.ts';

/** The share of a points system's points from which on a trigger dominates, and the least number of awards: few vary by chance. */
const DOMINATES_FROM = 0.9;
const LEAST_AWARDS = 100;
/** A younger trigger has had too little of the 30 days to count as the other choice. */
const COMPARED_AFTER_MS = 7 * DAY_MS;

export interface Shares {
  compiled: CompiledCatalog;
  nowMs: number;
  /** What the triggers awarded in the last 30 days; `subject`: trigger, `part`: points system. */
  awards: readonly AnalyticsSum[];
}

/** Reads one row per trigger from the sums of 30 days; none if no points system has two active triggers. */
export async function awardsOf(
  pool: Pool,
  { catalog: { tenantNo, triggers } }: CompiledCatalog,
  nowMs: number,
): Promise<AnalyticsSum[]> {
  if (![...triggersOfSystems(triggers).values()].some(({ length }) => length > 1)) return [];
  const days = inRange(comparedDays({}, nowMs));
  return readSumsTogether(pool, { tenantNo, segment: SEGMENT.everyone, kinds: [COUNTED.awarded], ...days });
}

/** Points systems of which one trigger awards nearly everything, while others of the system could award, too. */
export function triggerDominates(shares: Shares): Finding | null {
  const { compiled, nowMs, awards } = shares;
  const active = triggersOfSystems(compiled.catalog.triggers);
  const ofSystems = groupedBy(awards, ({ part }) => part);
  const dominated = compiled.catalog.pointsSystems.flatMap((system) => {
    const most = dominating(active.get(system.id) ?? [], ofSystems.get(system.no) ?? [], nowMs);
    return most === null ? [] : [{ system, name: system.name, ...most }];
  });
  const [first] = dominated;
  if (first === undefined) return null;
  const part = ({ system, trigger, percent }: Dominated): string =>
    `${percent} % of ${system.name} (for ${subjectOf(compiled, trigger)})`;
  return {
    text: `In the last 30 days, a single trigger awarded ${names(dominated, part)}.`,
    advice: 'If users should do the other things, too, raise their points, or lower those of this trigger.',
    screen: dominated.length === 1 ? `/points/${first.system.id}` : '/points',
  };
}

interface Dominated {
  system: PointsSystem;
  trigger: PointsTrigger;
  percent: number;
}

/** The active trigger that awarded nearly all points of a system, counting those of deleted triggers; `null` if none did. */
function dominating(
  triggers: readonly PointsTrigger[],
  awards: readonly AnalyticsSum[],
  nowMs: number,
): Pick<Dominated, 'trigger' | 'percent'> | null {
  const all = awards.reduce((sum, { value }) => sum + value, 0n);
  const [most] = awards.toSorted((one, other) => (one.value < other.value ? 1 : -1));
  if (most === undefined || most.events < LEAST_AWARDS || all <= 0n) return null;
  const share = Number(most.value) / Number(all);
  const trigger = triggers.find(({ no }) => no === most.subject);
  const hasOthers = triggers.some(({ no, created }) => no !== most.subject && created <= nowMs - COMPARED_AFTER_MS);
  if (trigger === undefined || !hasOthers || share < DOMINATES_FROM) return null;
  return { trigger, percent: Math.floor(share * 100) };
}

/** What a trigger awards points for. */
function subjectOf({ catalog }: CompiledCatalog, trigger: PointsTrigger): string {
  const nameIn = (resources: readonly { id: string; name: string }[], id: string | null | undefined): string | null =>
    resources.find((one) => one.id === id)?.name ?? null;
  switch (kindOf(trigger)) {
    case 'metric':
      return nameIn(catalog.metrics, trigger.metricId) ?? 'a metric';
    case 'achievement':
      return nameIn(catalog.achievements, trigger.achievementId) ?? 'achievements';
    case 'level':
      return `levels of ${nameIn(catalog.pointsSystems, trigger.pointsSystemId) ?? 'points'}`;
    case 'rank':
      return `ranks on ${nameIn(catalog.leaderboards, trigger.leaderboardId) ?? 'leaderboards'}`;
    case 'streak':
      return 'streaks';
    case 'time':
      return 'elapsed time';
    case 'user_creation':
      return 'new users';
  }
}
