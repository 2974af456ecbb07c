import type { KeptRuns } from '../../../src/engine/leaderboards/kept-runs.ts';

/** Without stored results: runs are readable while Redis holds them, and the history consists of the current day. */
export const NO_PAST: KeptRuns = {
  standings: async () => null,
  scores: async () => null,
  teams: async () => null,
  groupOf: async () => null,
  snapshots: async () => [],
  places: async () => [],
  rewards: async () => new Map(),
  kept: async () => new Set(),
};
