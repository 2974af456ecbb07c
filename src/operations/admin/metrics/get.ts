import { getOperation } from '../../resource-operations.ts';
import { metrics } from './metrics.ts';

export const adminMetricsGet = getOperation(metrics);
