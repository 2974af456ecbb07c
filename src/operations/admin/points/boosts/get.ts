import { getOperation } from '../../../resource-operations.ts';
import { boosts } from './boosts.ts';

export const adminPointsBoostsGet = getOperation(boosts);
