import { listOperation } from '../../resource-operations.ts';
import { metrics } from './metrics.ts';

export const adminMetricsList = listOperation(metrics);
