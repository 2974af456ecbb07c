import { deleteOperation } from '../../resource-operations.ts';
import { metrics } from './metrics.ts';

export const adminMetricsDelete = deleteOperation(metrics);
