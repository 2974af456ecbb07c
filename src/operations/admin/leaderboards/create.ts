import { createOperation } from '../../resource-operations.ts';
import { leaderboards } from './leaderboards.ts';

export const adminLeaderboardsCreate = createOperation(leaderboards);
