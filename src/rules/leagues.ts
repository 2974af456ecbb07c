import type { Leagues, LeagueMove } from '../domain/leagues.ts';

/*
 * Leagues: who of a cohort moves, and which cohort a user enters. Tiers are numbers from 0, the lowest one.
 */

export type LeagueRule = Pick<Leagues, 'promoted' | 'demoted' | 'inactive'> & { tiers: number; cohortUsers: number };

export const ruleOf = ({ tiers, ...rule }: Leagues): LeagueRule => ({ ...rule, tiers: tiers.length });

/** The tier that counts for a user: the highest one if there are fewer than before. */
export const tierIn = ({ tiers }: Pick<LeagueRule, 'tiers'>, tier: number): number => Math.min(tier, tiers - 1);

/**
 * How a user with a rank among the `users` of a cohort moves. Users with equal ranks move alike. Promotion comes first, and the
 * first of a cohort never falls.
 */
export function moveOf(
  { tiers, promoted, demoted }: LeagueRule,
  { tier, rank, users }: { tier: number; rank: number; users: number },
): LeagueMove {
  if (rank <= promoted) return tierIn({ tiers }, tier) < tiers - 1 ? 'up' : 'stay';
  return rank > 1 && rank > users - demoted && tier > 0 ? 'down' : 'stay';
}

/** How a user without a score in the run moves. */
export const moveOfInactive = ({ inactive }: LeagueRule, tier: number): LeagueMove =>
  inactive === 'fall' && tier > 0 ? 'down' : 'stay';

const STEPS = { up: 1, stay: 0, down: -1 } as const;

export const tierAfter = (rule: LeagueRule, tier: number, move: LeagueMove): number => tierIn(rule, tier) + STEPS[move];

/** A cohort that is being filled. `id`: `null` if it is new. */
export interface OpenCohort {
  id: number | null;
  members: number;
}

/**
 * Fills cohorts with users in order: the open one of each key (users of one tier and group) until it has `size` members, then new
 * ones. Returns each user's cohort, in order. Counts the new members in the cohorts.
 */
export function seatUsers(keys: readonly string[], open: Map<string, OpenCohort>, size: number): OpenCohort[] {
  return keys.map((key) => {
    let cohort = open.get(key);
    if (cohort === undefined || cohort.members >= size) open.set(key, (cohort = { id: null, members: 0 }));
    cohort.members += 1;
    return cohort;
  });
}
