import { updateOperation } from '../../resource-operations.ts';
import { leaderboards } from './leaderboards.ts';

export const adminLeaderboardsUpdate = updateOperation(leaderboards);
