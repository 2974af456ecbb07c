import { queryOptions } from '@tanstack/react-query';
import { answer } from '../../api/answer.ts';
import { admin } from '../../api/client.ts';
import type { AdminRead } from '../../api/queries.ts';

export type System = AdminRead<'/v1/system'>;

const READ_MS = 5_000;

/** The installation's servers, polled while visible. */
export const systemQuery = queryOptions({
  queryKey: ['system'],
  refetchInterval: READ_MS,
  queryFn: () => answer(admin.GET('/v1/system')),
});
