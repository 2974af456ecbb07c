import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { answer } from '../api/answer.ts';
import { eventCurl } from '../api/bodies.ts';
import { application } from '../api/client.ts';
import { attributesQuery, leaderboardsQuery } from '../api/queries.ts';
import { useNamed } from '../api/use-named.ts';
import { boardText } from '../rule-text.ts';
import { Button } from '../ui/button.tsx';
import { Labelled, TextInput } from '../ui/fields.tsx';
import { number } from '../ui/format.ts';
import { Empty, Failed, Screen, Status, Waiting } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { DataTable } from '../ui/table.tsx';
import { OpenJob } from './open-job.tsx';

const route = getRouteApi('/leaderboards/$key');
const PAGE = 50;
/** The board is read again this often while it is looked at. */
const LIVE_MS = 2_000;

interface Place {
  userId: string;
  userName: string | null;
  rank: number;
  value: number;
}

const COLUMNS: readonly Column<Place>[] = [
  { id: 'rank', header: 'Place', align: 'right', cell: ({ rank }) => number(rank) },
  {
    id: 'user',
    header: 'User',
    cell: ({ userId, userName }) => (
      <Link to="/users/$id" params={{ id: userId }} className="font-medium text-accent hover:underline">
        {userName ?? userId}
      </Link>
    ),
  },
  { id: 'id', header: 'ID', cell: ({ userId }) => <span className="text-muted">{userId}</span>, spare: true },
  { id: 'value', header: 'Score', align: 'right', cell: ({ value }) => number(value) },
];

/** One leaderboard, live: a page of its places, of now or of another run, and of one group where it has some. */
export function LeaderboardScreen() {
  const { key } = route.useParams();
  const boards = useQuery(leaderboardsQuery);
  const attributes = useQuery(attributesQuery).data;
  const rules = useNamed();
  const [run, setRun] = useState('');
  const [group, setGroup] = useState<Readonly<Record<string, string>>>({});
  const board = boards.data?.find((one) => one.key === key);
  if (boards.isPending) return <Waiting />;
  if (board === undefined)
    return (
      <Screen title={key}>
        {boards.isError ? <Failed error={boards.error} /> : <Empty title="There is no such leaderboard" />}
      </Screen>
    );
  const groupedBy = board.breakdownAttributes.map((id) => attributes?.find((attribute) => attribute.id === id));
  const pairs = groupedBy.map((attribute) => `${attribute?.key}:${group[attribute?.key ?? ''] ?? ''}`);
  const isChosen = groupedBy.every((attribute) => (group[attribute?.key ?? ''] ?? '') !== '');
  return (
    <Screen
      title={
        <>
          {board.name} <Status of={board.status} /> <OpenJob of={board.id} />
        </>
      }
      about={`${board.description ?? ''} ${boardText(board, rules)}.`}
    >
      <div className="flex flex-wrap gap-3">
        {groupedBy.map(
          (attribute) =>
            attribute && (
              <Labelled key={attribute.key} label={attribute.name}>
                <TextInput
                  placeholder="A value"
                  value={group[attribute.key] ?? ''}
                  onChange={({ target }) => setGroup({ ...group, [attribute.key]: target.value })}
                />
              </Labelled>
            ),
        )}
        {board.runUnit !== undefined && (
          <Labelled label="The run of">
            <TextInput type="date" value={run} onChange={({ target }) => setRun(target.value)} />
          </Labelled>
        )}
      </div>
      {isChosen ? (
        <Places key={`${run} ${pairs.join()}`} board={key} run={run} userAttributes={pairs.join(',')} />
      ) : (
        <Empty title="Each group has a board of its own">Say which one to look at.</Empty>
      )}
    </Screen>
  );
}

function Places({ board, run, userAttributes }: { board: string; run: string; userAttributes: string }) {
  const [offset, setOffset] = useState(0);
  const places = useQuery({
    queryKey: ['leaderboard', board, offset, run, userAttributes],
    queryFn: () =>
      answer(
        application.GET('/v1/leaderboards/{key}', {
          params: {
            path: { key: board },
            query: {
              offset,
              limit: PAGE,
              ...(run !== '' && { run }),
              ...(userAttributes !== '' && { userAttributes }),
            },
          },
        }),
      ),
    refetchInterval: run === '' ? LIVE_MS : false,
    placeholderData: keepPreviousData,
  });
  if (places.isPending) return <Waiting />;
  if (places.isError) return <Failed error={places.error} retry={() => void places.refetch()} />;
  const { rankings } = places.data;
  return (
    <>
      {rankings.length === 0 ? (
        <Empty
          title={offset === 0 ? 'Nobody is on it yet' : 'There are no further places'}
          {...(offset === 0 && { curl: eventCurl() })}
        >
          {offset === 0 && 'Users are on it from the first event on that gives them a score:'}
        </Empty>
      ) : (
        <DataTable tall label="Places" columns={COLUMNS} rows={rankings} rowId={({ userId }) => userId} />
      )}
      <div className="flex items-center gap-2">
        <Button disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - PAGE))}>
          Previous
        </Button>
        <Button disabled={rankings.length < PAGE} onClick={() => setOffset(offset + PAGE)}>
          Next
        </Button>
        <span className="text-muted">
          Places {offset + 1} to {offset + rankings.length}
          {run === '' && ', read again every two seconds'}
        </span>
      </div>
    </>
  );
}
