import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, type ReactNode } from 'react';
import { openJobsQuery } from '../api/queries.ts';
import { number } from '../ui/format.ts';

const TEXTS = { backdating: 'Backdating', leaderboard_filling: 'Filling' } as const;

/**
 * The job that backdates an achievement or fills a leaderboard, with its progress and a link to all jobs. While there is none, the
 * children: figures that the job is still changing are not shown.
 */
export function OpenJob({ of, children }: { of: string; children?: ReactNode }) {
  const queries = useQueryClient();
  const job = useQuery(openJobsQuery).data?.find(({ subject }) => subject?.id === of);
  const id = job?.id;
  useEffect(() => {
    if (id === undefined) return;
    // The job ended, or another one replaced it: the figures have changed.
    return () => {
      void queries.invalidateQueries({ queryKey: ['rarities'] });
      void queries.invalidateQueries({ queryKey: ['leaderboard'] });
    };
  }, [id, queries]);
  if (job === undefined) return children;
  const { done, total } = job.progress;
  const text = job.kind === 'backdating' || job.kind === 'leaderboard_filling' ? TEXTS[job.kind] : 'Working';
  return (
    <Link to="/jobs" className="text-accent hover:underline" title={job.error ?? undefined}>
      {text}: {number(done)}
      {total !== null && ` of ${number(total)}`}
      {job.error !== null && ', retrying'} …
    </Link>
  );
}
