import { getOperation } from '../../resource-operations.ts';
import { leaderboards } from './leaderboards.ts';

export const adminLeaderboardsGet = getOperation(leaderboards);
