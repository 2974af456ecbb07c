import { createOperation } from '../../../resource-operations.ts';
import { boosts } from './boosts.ts';

export const adminPointsBoostsCreate = createOperation(boosts);
