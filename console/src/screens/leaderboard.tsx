import { keepPreviousData, type QueryKey, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
// oxlint-disable-next-line no-restricted-imports -- the rule of runs, which the API does not list
import { runOf, runShownOn, type Run, type RunRule } from '../../../src/domain/runs.ts';
import { answer } from '../api/answer.ts';
import { eventCurl } from '../api/bodies.ts';
import { admin, application } from '../api/client.ts';
import { useToday } from '../api/clock.ts';
import { attributesQuery, leaderboardsQuery, type Attribute, type Leaderboard } from '../api/queries.ts';
import { useNamed } from '../api/use-named.ts';
import { AnalysisLink } from '../resource/analysis-link.tsx';
import { EditLink } from '../resource/edit-link.tsx';
import { boardText } from '../rule-text.ts';
import { Button } from '../ui/button.tsx';
import { Labelled, SelectInput } from '../ui/fields.tsx';
import { daysText, number } from '../ui/format.ts';
import { Empty, Failed, Screen, Status, Waiting } from '../ui/parts.tsx';
import { useIsPhone, type Column } from '../ui/table-frame.tsx';
import { AttributeValueInput } from '../ui/suggestions.tsx';
import { DataTable } from '../ui/table.tsx';
import { OpenJob } from './open-job.tsx';

const Leagues = lazy(async () => ({ default: (await import('./leagues.tsx')).Leagues }));
import { scoreText } from './score-text.ts';
import { Options } from '../ui/options.tsx';

const route = getRouteApi('/leaderboards/$key');
const PARENT = { to: '/leaderboards', text: 'Leaderboards' } as const;
const PAGE = 50;
/** Polling interval of an open leaderboard. */
const LIVE_MS = 2_000;

interface Place {
  userId: string;
  userName: string | null;
  rank: number;
  value: number;
  secondaryScore?: number;
}

const COLUMNS: readonly Column<Place>[] = [
  { id: 'rank', header: 'Place', align: 'right', narrow: true, cell: ({ rank }) => number(rank) },
  {
    id: 'user',
    header: 'User',
    cell: (place) => <UserLink {...place} />,
  },
  { id: 'id', header: 'ID', onlyWide: true, cell: ({ userId }) => <span className="text-muted">{userId}</span> },
  { id: 'value', header: 'Score', align: 'right', cell: scoreText },
];

/** A user's name. On a phone, where the IDs have no column, with the ID below. */
function UserLink({ userId, userName }: Place) {
  const isPhone = useIsPhone();
  return (
    <Link
      to="/users/$id"
      params={{ id: userId }}
      className="max-w-full truncate align-middle font-medium text-accent hover:underline"
    >
      {userName ?? userId}
      {isPhone && userName !== null && <span className="block truncate text-xs text-muted">{userId}</span>}
    </Link>
  );
}

interface Team {
  team: string;
  rank: number;
  value: number;
  members: number;
}

const TEAM_COLUMNS: readonly Column<Team>[] = [
  { id: 'rank', header: 'Place', align: 'right', narrow: true, cell: ({ rank }) => number(rank) },
  { id: 'team', header: 'Team', cell: ({ team }) => <span className="font-medium">{team}</span> },
  { id: 'members', header: 'Members', align: 'right', cell: ({ members }) => number(members) },
  { id: 'value', header: 'Score', align: 'right', cell: ({ value }) => number(value) },
];

type Ranked = 'users' | 'teams' | 'leagues';

/** One leaderboard: a page of places of users in a run and group, of teams in a run, or its leagues. */
export function LeaderboardScreen() {
  const { key } = route.useParams();
  const boards = useQuery(leaderboardsQuery);
  const attributes = useQuery(attributesQuery).data;
  const rules = useNamed();
  const [run, setRun] = useState('');
  const [group, setGroup] = useState<Group>({});
  const [of, setOf] = useState<Ranked>('users');
  const board = boards.data?.find((one) => one.key === key);
  if (boards.isPending)
    return (
      <Screen title={key} parent={PARENT}>
        <Waiting />
      </Screen>
    );
  if (board === undefined)
    return (
      <Screen title={key} parent={PARENT}>
        {boards.isError ? (
          <Failed error={boards.error} />
        ) : (
          <Empty title="This leaderboard does not exist">It may have been deleted, or belong to another tenant.</Empty>
        )}
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
      name={board.name}
      parent={PARENT}
      about={`${board.description ?? ''} ${boardText(board, rules)}.`}
      actions={
        <>
          <EditLink to="/leaderboards" id={board.id} />
          {board.status === 'active' && <AnalysisLink to={{ view: 'leaderboards', id: board.id }} />}
        </>
      }
    >
      <div className="flex flex-wrap gap-3 empty:hidden">
        {(board.teamAttributeId || board.leagues) && (
          <Labelled label="Ranking of">
            <SelectInput value={of} onChange={({ target }) => setOf(target.value as Ranked)}>
              <option value="users">Users</option>
              {board.teamAttributeId && <option value="teams">Teams</option>}
              {board.leagues && <option value="leagues">Leagues</option>}
            </SelectInput>
          </Labelled>
        )}
        {groupedBy.length > 0 && of === 'users' && (
          <GroupPicker board={board.id} run={run} group={group} onChange={setGroup} attributes={groupedBy} />
        )}
        {board.runUnit !== undefined && <RunPicker board={board} run={run} onChange={setRun} />}
      </div>
      {of === 'teams' ? (
        <Teams key={run} board={key} run={run} />
      ) : of === 'leagues' && board.leagues ? (
        <Suspense fallback={<Waiting />}>
          <Leagues key={run} board={board} leagues={board.leagues} run={run} />
        </Suspense>
      ) : isChosen ? (
        <Places key={`${run} ${pairs.join()}`} board={key} run={run} userAttributes={pairs.join(',')} />
      ) : (
        <Empty title="Each group has its own ranking">Choose a group to see its places.</Empty>
      )}
    </Screen>
  );
}

/** Runs that the list has at first, and how many more each request for older ones adds. */
const RUNS = 30;
const OLDER = 'older';
const DAY_MS = 86_400_000;

/** The runs before one, newest first. */
function runsBefore(rule: RunRule, { startDay }: Run, most: number): Run[] {
  const runs: Run[] = [];
  for (let run = runOf(rule, startDay - 1); run !== null && runs.length < most; run = runOf(rule, run.startDay - 1))
    runs.push(run);
  return runs;
}

const runText = ({ startDay, endDay }: Run): string => daysText(startDay * DAY_MS, (endDay ?? startDay) * DAY_MS);

/** Selects the present run (`''`) or a past one, by its first day. */
function RunPicker({ board, run, onChange }: { board: Leaderboard; run: string; onChange: (run: string) => void }) {
  const today = useToday();
  const [most, setMost] = useState(RUNS);
  const { start, end = null, runUnit = null, runInterval = null } = board;
  const rule = { start, end, runUnit, runInterval };
  const present = runShownOn(rule, Date.parse(today) / DAY_MS);
  const past = runsBefore(rule, present, most + 1);
  const choose = (value: string): void => (value === OLDER ? setMost(most + RUNS) : onChange(value));
  return (
    <Labelled label="Run">
      <SelectInput value={run} onChange={({ target }) => choose(target.value)}>
        <option value="">{`${board.status === 'active' ? 'Now' : board.status === 'scheduled' ? 'First' : 'Last'}: ${runText(present)}`}</option>
        <Options
          of={past
            .slice(0, most)
            .map((one) => [new Date(one.startDay * DAY_MS).toISOString().slice(0, 10), runText(one)])}
        />
        {past.length > most && <option value={OLDER}>Older runs …</option>}
      </SelectInput>
    </Labelled>
  );
}

/** Values of the attributes that divide a board, by key. */
type Group = Readonly<Record<string, string>>;

interface GroupPickerProps {
  board: string;
  run: string;
  group: Group;
  attributes: readonly (Attribute | undefined)[];
  onChange: (group: Group) => void;
}

/** Selects a group of a board with a breakdown, from existing groups or by its values. */
function GroupPicker({ board, run, group, attributes, onChange }: GroupPickerProps) {
  const groups = useQuery({
    queryKey: ['leaderboard', board, 'groups', run],
    queryFn: () =>
      answer(
        admin.GET('/v1/leaderboards/{id}/groups', {
          params: { path: { id: board }, query: { ...(run !== '' && { run }) } },
        }),
      ),
  });
  const largest = groups.data?.toSorted((one, other) => other.users - one.users)[0]?.userAttributes;
  const isUntouched = Object.keys(group).length === 0;
  useEffect(() => {
    if (isUntouched && largest !== undefined) onChange(largest);
  }, [isUntouched, largest, onChange]);
  const textOf = (values: Group): string => attributes.map((attribute) => values[attribute?.key ?? '']).join(' · ');
  const chosen = groups.data?.findIndex(({ userAttributes }) => textOf(userAttributes) === textOf(group)) ?? -1;
  return (
    <>
      {groups.data !== undefined && groups.data.length > 0 && (
        <Labelled label="Group">
          <SelectInput
            value={chosen}
            onChange={({ target }) => onChange(groups.data[Number(target.value)]?.userAttributes ?? {})}
          >
            {chosen < 0 && <option value={-1}>Choose a group …</option>}
            <Options
              of={groups.data.map(({ userAttributes, users }, index) => [
                index,
                `${textOf(userAttributes)} (${number(users)} ${users === 1 ? 'user' : 'users'})`,
              ])}
            />
          </SelectInput>
        </Labelled>
      )}
      {attributes.map(
        (attribute) =>
          attribute && (
            <Labelled key={attribute.key} label={attribute.name}>
              <AttributeValueInput
                attributeId={attribute.id}
                placeholder="Value"
                value={group[attribute.key] ?? ''}
                onChange={({ target }) => onChange({ ...group, [attribute.key]: target.value })}
              />
            </Labelled>
          ),
      )}
    </>
  );
}

function Places({ board, run, userAttributes }: { board: string; run: string; userAttributes: string }) {
  return (
    <Ranking
      label="Places"
      queryKey={['leaderboard', board, run, userAttributes]}
      read={(page) =>
        answer(
          application.GET('/v1/leaderboards/{key}', {
            params: {
              path: { key: board },
              query: { ...page, ...(run !== '' && { run }), ...(userAttributes !== '' && { userAttributes }) },
            },
          }),
        )
      }
      columns={COLUMNS}
      rowId={({ userId }) => userId}
      isLive={run === ''}
      empty={
        <Empty title="No participants yet" curl={eventCurl()}>
          A user appears with the first event that gives a score:
        </Empty>
      }
    />
  );
}

function Teams({ board, run }: { board: string; run: string }) {
  return (
    <Ranking
      label="Teams"
      queryKey={['leaderboard', board, 'teams', run]}
      read={(page) =>
        answer(
          application.GET('/v1/leaderboards/{key}/teams', {
            params: { path: { key: board }, query: { ...page, ...(run !== '' && { run }) } },
          }),
        )
      }
      columns={TEAM_COLUMNS}
      rowId={({ team }) => team}
      isLive={run === ''}
      empty={<Empty title="No teams yet">A team appears with the first event of a member that gives a score.</Empty>}
    />
  );
}

interface RankingProps<T> {
  label: string;
  queryKey: QueryKey;
  read: (page: { offset: number; limit: number }) => Promise<{ rankings: T[] }>;
  columns: readonly Column<T>[];
  rowId: (row: T) => string;
  /** Whether the run may still change. */
  isLive: boolean;
  empty: ReactNode;
}

function Ranking<T>({ label, queryKey, read, columns, rowId, isLive, empty }: RankingProps<T>) {
  const [offset, setOffset] = useState(0);
  const places = useQuery({
    queryKey: [...queryKey, offset],
    queryFn: () => read({ offset, limit: PAGE }),
    refetchInterval: isLive ? LIVE_MS : false,
    placeholderData: keepPreviousData,
  });
  if (places.isPending) return <Waiting />;
  if (places.isError) return <Failed error={places.error} retry={() => void places.refetch()} />;
  const { rankings } = places.data;
  if (rankings.length === 0 && offset === 0) return empty;
  return (
    <>
      {rankings.length === 0 ? (
        <Empty title="No more places" />
      ) : (
        <DataTable tall lines label={label} columns={columns} rows={rankings} rowId={rowId} />
      )}
      <div className="flex items-center gap-2">
        <Button disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - PAGE))}>
          Previous
        </Button>
        <Button disabled={rankings.length < PAGE} onClick={() => setOffset(offset + PAGE)}>
          Next
        </Button>
        <span className="text-muted">
          {rankings.length > 0 &&
            `Places ${offset + 1} to ${offset + rankings.length}${isLive ? ', updated every two seconds' : ''}`}
        </span>
      </div>
    </>
  );
}
