import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { openJobsQuery } from '../api/queries.ts';
import { number } from '../ui/format.ts';

const TEXTS = { backdating: 'Backdating', leaderboard_filling: 'Filling' } as const;

/**
 * The job that backdates an achievement or fills a leaderboard while it is open: its progress, with a link to all jobs.
 */
export function OpenJob({ of }: { of: string }) {
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
  if (job === undefined) return null;
  const { done, total } = job.progress;
  const text = job.kind === 'backdating' || job.kind === 'leaderboard_filling' ? TEXTS[job.kind] : 'Working';
  return (
    <Link to="/jobs" className="text-sm font-normal text-accent underline" title={job.error ?? undefined}>
      {text}: {number(done)}
      {total !== null && ` of ${number(total)}`}
      {job.error !== null && ', retrying'} …
    </Link>
  );
}
