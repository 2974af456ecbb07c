import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { curl } from '../../api/bodies.ts';
import { admin } from '../../api/client.ts';
import type { AdminRead } from '../../api/queries.ts';
import { useMayChange } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { ago, moment, number } from '../../ui/format.ts';
import { Empty, Failed, Screen, Waiting } from '../../ui/parts.tsx';
import type { Column } from '../../ui/table-frame.tsx';
import { DataTable } from '../../ui/table.tsx';
import { NewRecomputation } from './new-recomputation.tsx';
import { isUnderWay, RecomputationStatus, RECOMPUTED, UNDER_WAY_MS } from './status.tsx';

type Row = AdminRead<'/v1/recomputations'>[number];

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'requested',
    header: 'Requested',
    cell: ({ id, requested }) => (
      <Link
        to="/recomputations/$id"
        params={{ id }}
        className="font-medium text-accent hover:underline"
        title={moment(requested)}
      >
        {ago(requested)}
      </Link>
    ),
  },
  { id: 'what', header: 'Subject', cell: ({ request }) => request.what.map((one) => RECOMPUTED[one]).join(', ') },
  { id: 'by', header: 'By', cell: ({ requestedBy }) => requestedBy },
  { id: 'gaining', header: 'Gain', align: 'right', cell: ({ figures }) => number(figures.gaining) },
  { id: 'losing', header: 'Lose', align: 'right', cell: ({ figures }) => number(figures.losing) },
  { id: 'status', header: 'Status', cell: ({ status }) => <RecomputationStatus of={status} /> },
];

/** Recomputations, finished and in progress. */
export function Recomputations() {
  const mayChange = useMayChange();
  const [asked, setAsked] = useState(false);
  const all = useQuery({
    queryKey: ['recomputations'],
    queryFn: () => answer(admin.GET('/v1/recomputations')),
    refetchInterval: ({ state }) => (state.data?.some(({ status }) => isUnderWay(status)) ? UNDER_WAY_MS : false),
  });
  return (
    <Screen
      title="Recomputations"
      about="Applies today’s rules to the users’ whole history. A preview shows who gains and who loses; nothing changes until you apply it."
      actions={
        mayChange && (
          <Button look="primary" onClick={() => setAsked(true)}>
            <Plus size={15} aria-hidden /> New recomputation
          </Button>
        )
      }
    >
      {all.isPending && <Waiting />}
      {all.isError && <Failed error={all.error} />}
      {all.data?.length === 0 && (
        <Empty
          title="No recomputations yet"
          curl={curl('POST', '/v1/recomputations', { what: ['achievements', 'points'] })}
        >
          After you change a rule, see which users would gain or lose if it had always applied. This command creates a
          preview:
        </Empty>
      )}
      {all.data !== undefined && all.data.length > 0 && (
        <DataTable label="Recomputations" columns={COLUMNS} rows={all.data} rowId={({ id }) => id} />
      )}
      <NewRecomputation open={asked} onClose={() => setAsked(false)} />
    </Screen>
  );
}
