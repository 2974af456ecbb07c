import type { PointsBoost, PointsSystem } from '../../domain/catalog.ts';
import type { ImportedAward, ImportedPoints, ImportedUser } from '../../domain/imported-user.ts';
import { microsNumber } from '../../domain/decimal.ts';
import { dayIn, dayStartMs } from '../../domain/zone.ts';
import { type Draft, type ImportedAwardRow, namedBoost, namedTrigger } from './draft.ts';
import { pastMs } from './profile.ts';
import { changesOf } from './scores.ts';

/** Adds points and awards. Unexplained points of a day become one award without trigger. Throws BadImport. */
export function addPoints(draft: Draft, { points = {} }: ImportedUser): void {
  for (const [key, imported] of Object.entries(points)) {
    const system = draft.compiled.pointsSystems.get(key);
    if (system === undefined) {
      draft.skipped.push({
        field: `points.${key}`,
        reason: 'no points system has this key',
        days: Object.keys(imported.days ?? {}).length,
      });
      continue;
    }
    draft.state.points.set(system.no, imported.total);
    draft.awards.push(...ledgerOf(draft, system, imported));
  }
}

/** All awards of a system, oldest first, with the total after each. Computed backwards from the current total. */
function ledgerOf(
  draft: Draft,
  system: PointsSystem,
  { total, days, awards = [] }: ImportedPoints,
): ImportedAwardRow[] {
  // The newest come first, as in the contract's answers. Awards of the same millisecond keep their order.
  const known = awards
    .toReversed()
    .map((award, index) => awardRow(draft, system, award, `points.${system.key}.awards[${awards.length - 1 - index}]`))
    .toSorted((a, b) => a.atMs - b.atMs);
  const ofDays = days === undefined ? [] : unnamedAwards(draft, system, days, known);
  const rows = [...ofDays, ...known].toSorted((a, b) => a.atMs - b.atMs);
  let after = total;
  for (const row of rows.toReversed()) {
    if (row.total === -1) row.total = Math.max(0, after);
    after = row.total - row.awarded;
  }
  return rows;
}

function awardRow(draft: Draft, system: PointsSystem, award: ImportedAward, field: string): ImportedAwardRow {
  const { compiled, changed, nowMs, tz } = draft;
  const atMs = pastMs(`${field}.date`, award.date, nowMs);
  const trigger = award.trigger && namedTrigger(compiled, system, award.trigger);
  if (award.trigger !== undefined && trigger === undefined)
    changed.push(
      `points.${system.key}.awards: no trigger of type '${award.trigger.type}' matches; imported without one`,
    );
  const boosts = (award.boosts ?? []).flatMap((named) => {
    const boost = namedBoost(compiled, system, named);
    if (boost === undefined)
      changed.push(`points.${system.key}.awards: no boost is '${named.name ?? named.id}'; imported without it`);
    return boost === undefined ? [] : [boost];
  });
  const isKnown = trigger !== undefined && boosts.length === (award.boosts ?? []).length;
  const { awarded, total = -1 } = award;
  return {
    systemNo: system.no,
    triggerNo: trigger?.no ?? 0,
    awarded,
    total,
    atMs,
    day: dayIn(tz, atMs),
    boostNos: boosts.map(({ no }) => no),
    multiples: isKnown ? multiplesOf(awarded, trigger.points, boosts) : Math.sign(awarded),
  };
}

/** With a lower rate, the rounding of a boosted award could hide or add a multiple. */
const LEAST_RATE = 2;

/** A trigger's multiples in an awarded amount, at least one. Bounds of the system may have cut the last one. */
function multiplesOf(awarded: number, points: number, boosts: readonly PointsBoost[]): number {
  const rate = boosts.reduce((product, { multiplier }) => product * multiplier, points);
  const many = Math.abs(awarded / rate);
  const whole = boosts.length === 0 ? Math.ceil(many) : Math.abs(rate) < LEAST_RATE ? 1 : Math.max(1, Math.round(many));
  return Math.sign(awarded / points) * whole;
}

function unnamedAwards(
  { tz, today }: Draft,
  system: PointsSystem,
  days: Record<string, number>,
  known: readonly ImportedAwardRow[],
): ImportedAwardRow[] {
  const unexplained = new Map<number, number>();
  for (const { day, change } of changesOf(`points.${system.key}.days`, days, today))
    unexplained.set(day, Math.round(microsNumber(change)));
  for (const { day, awarded } of known) unexplained.set(day, (unexplained.get(day) ?? 0) - awarded);
  // Reversals first: an award on the day that a reversal is taken from would explain that day as well.
  for (const award of known.toSorted((a, b) => Math.sign(a.awarded) - Math.sign(b.awarded)))
    moveToItsDay(award, unexplained);
  return [...unexplained]
    .filter(([, awarded]) => awarded !== 0)
    .map(([day, awarded]) => ({
      systemNo: system.no,
      triggerNo: 0,
      awarded,
      total: -1,
      atMs: dayStartMs(tz ?? 'UTC', day),
      day,
      boostNos: [],
      multiples: 0,
    }));
}

/**
 * An award may count for another day than that of its time: a reversal counts for the day of the original award, and
 * the zone may have been different. Moves an award if the unexplained points of both days support it, preferably to the
 * day that it explains completely.
 */
function moveToItsDay(award: ImportedAwardRow, left: Map<number, number>): void {
  const { awarded, day } = award;
  const holds = (rest: number, sign: 1 | -1): boolean =>
    Math.sign(rest) === sign * Math.sign(awarded) && Math.abs(rest) >= Math.abs(awarded);
  if (!holds(left.get(day) ?? 0, -1)) return;
  const others = [...left].filter(([, rest]) => holds(rest, 1));
  const other = others.find(([, rest]) => rest === awarded) ?? others[0];
  if (other === undefined) return;
  award.day = other[0];
  left.set(day, left.get(day)! + awarded);
  left.set(other[0], other[1] - awarded);
}
