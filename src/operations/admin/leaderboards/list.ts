import { listOperation } from '../../resource-operations.ts';
import { leaderboards } from './leaderboards.ts';

export const adminLeaderboardsList = listOperation(leaderboards);
