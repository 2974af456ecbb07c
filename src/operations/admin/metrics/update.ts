import { updateOperation } from '../../resource-operations.ts';
import { metrics } from './metrics.ts';

export const adminMetricsUpdate = updateOperation(metrics);
