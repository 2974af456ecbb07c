import { listOperation } from '../../../resource-operations.ts';
import { boosts } from './boosts.ts';

export const adminPointsBoostsList = listOperation(boosts);
