import { updateOperation } from '../../../resource-operations.ts';
import { boosts } from './boosts.ts';

export const adminPointsBoostsUpdate = updateOperation(boosts);
