import { createOperation } from '../../resource-operations.ts';
import { metrics } from './metrics.ts';

export const adminMetricsCreate = createOperation(metrics);
