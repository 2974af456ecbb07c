import { deleteOperation } from '../../resource-operations.ts';
import { leaderboards } from './leaderboards.ts';

export const adminLeaderboardsDelete = deleteOperation(leaderboards);
