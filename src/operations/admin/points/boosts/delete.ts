import { deleteOperation } from '../../../resource-operations.ts';
import { boosts } from './boosts.ts';

export const adminPointsBoostsDelete = deleteOperation(boosts);
