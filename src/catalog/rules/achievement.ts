import type { Achievement, Catalog } from '../../domain/catalog.ts';
import { achievementsIn, endlessIn, keysIn } from './lookups.ts';
import { amount, ownKey, problem, refers, whole, type Problem } from './problem.ts';

/** Longest streak that a rule may require, in periods. */
export const LONGEST_STREAK = 1_000_000;

/** Most years of an anniversary. */
const MOST_YEARS = 1_000;

export function* achievementProblems(achievement: Achievement, catalog: Catalog): Generator<Problem> {
  const { metricValue, streakLength, anniversaryYears } = achievement;
  const keys = keysIn(catalog.achievements);
  yield* ownKey(achievement, { holders: (of) => keys.get(of), noun: 'achievement' });
  if (metricValue !== null) yield* amount('metricValue', metricValue);
  if (streakLength !== null) yield* whole('streakLength', streakLength, { min: 1, max: LONGEST_STREAK });
  if (anniversaryYears !== null) yield* whole('anniversaryYears', anniversaryYears, { min: 1, max: MOST_YEARS });
  yield* partProblems(achievement, catalog);
}

function* partProblems({ id, achievementIds }: Achievement, catalog: Catalog): Generator<Problem> {
  const earlier = new Set<string>();
  for (const [index, part] of achievementIds.entries()) {
    const field = `achievementIds[${index}]`;
    yield* refers(field, part, { among: catalog.achievements, noun: 'achievement' });
    if (earlier.has(part)) yield problem(field, 'named twice');
    earlier.add(part);
  }
  const circle = circleThrough(id, catalog);
  if (circle !== null) yield problem('achievementIds', `go in a circle: ${wayOf(circle)}`);
}

/** Most names that a message about a cycle lists. */
const MOST_NAMED = 20;

const wayOf = (names: string[]): string =>
  (names.length <= MOST_NAMED ? names : [...names.slice(0, MOST_NAMED - 1), '…', names.at(-1)]).join(' → ');

/** The names on a cycle through a composite, or `null`. */
function circleThrough(id: string, catalog: Catalog): string[] | null {
  if (!endlessIn(catalog.achievements).has(id)) return null;
  const byId = achievementsIn(catalog.achievements);
  const label = (of: string): string => byId.get(of)?.key ?? byId.get(of)?.name ?? of;
  const cameFrom = new Map<string, string>();
  for (const open = [id]; open.length > 0;) {
    const at = open.shift()!;
    for (const part of byId.get(at)?.achievementIds ?? []) {
      if (part === id) {
        const way = [label(id)];
        for (let step = at; step !== id; step = cameFrom.get(step)!) way.unshift(label(step));
        return [label(id), ...way];
      }
      if (!cameFrom.has(part)) {
        cameFrom.set(part, at);
        open.push(part);
      }
    }
  }
  return null;
}
