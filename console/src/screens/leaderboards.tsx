import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { curl, type Changed, type New } from '../api/bodies.ts';
import { admin } from '../api/client.ts';
import { useToday } from '../api/clock.ts';
import { attributesQuery, leaderboardsQuery, metricsQuery, pointsQuery, type Leaderboard } from '../api/queries.ts';
import { useNamed } from '../api/use-named.ts';
import { byId, named, type Field } from '../resource/field.ts';
import { ResourceList } from '../resource/resource-list.tsx';
import { boardText } from '../rule-text.ts';
import { Code, Empty, Screen, Status } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { OpenJob } from './open-job.tsx';

export function Leaderboards() {
  const today = useToday();
  const rules = useNamed();
  const metrics = useQuery(metricsQuery).data;
  const systems = useQuery(pointsQuery).data;
  const attributes = useQuery(attributesQuery).data;
  const fields: Field<New<'/v1/leaderboards'>>[] = [
    { name: 'name', label: 'Name', kind: 'text', required: true },
    { name: 'key', label: 'Key', kind: 'text', required: true },
    { name: 'description', label: 'Description', kind: 'area' },
    {
      name: 'rankBy',
      label: 'Rank users by',
      kind: 'choice',
      options: named(['metric', 'points', 'streak']),
      initial: 'metric',
      required: true,
    },
    {
      name: 'metricId',
      label: 'Metric',
      kind: 'choice',
      options: byId(metrics),
      required: true,
      when: ({ rankBy }) => rankBy === 'metric',
    },
    {
      name: 'pointsSystemId',
      label: 'Points system',
      kind: 'choice',
      options: byId(systems),
      required: true,
      when: ({ rankBy }) => rankBy === 'points',
    },
    { name: 'maxParticipants', label: 'Places', kind: 'number', hint: 'Empty: everybody with a score has one' },
    { name: 'start', label: 'First day', kind: 'day', initial: today, required: true },
    { name: 'end', label: 'Last day', kind: 'day', hint: 'Empty: without an end' },
    {
      name: 'runUnit',
      label: 'Runs are counted in',
      kind: 'choice',
      options: [
        { value: 'day', text: 'days' },
        { value: 'month', text: 'months' },
        { value: 'year', text: 'years' },
      ],
      hint: 'Leave empty for one run without an end',
    },
    {
      name: 'runInterval',
      label: 'Length of a run',
      kind: 'number',
      initial: 1,
      required: true,
      when: ({ runUnit }) => typeof runUnit === 'string' && runUnit !== '',
    },
    {
      name: 'breakdownAttributes',
      label: 'A board of its own for each',
      kind: 'many',
      options: byId(attributes?.filter(({ type }) => type === 'user')),
    },
    {
      name: 'status',
      label: 'Status',
      kind: 'choice',
      options: named(['inactive', 'active']),
      initial: 'active',
      required: true,
    },
  ];
  const columns: readonly Column<Leaderboard>[] = [
    {
      id: 'name',
      header: 'Name',
      value: ({ name }) => name,
      cell: ({ key, name }) => (
        <Link to="/leaderboards/$key" params={{ key }} className="font-medium text-accent hover:underline">
          {name}
        </Link>
      ),
    },
    { id: 'key', header: 'Key', cell: ({ key }) => <Code>{key}</Code>, spare: true },
    { id: 'rule', header: 'Rule', cell: (board) => boardText(board, rules), wraps: true },
    {
      id: 'status',
      header: 'Status',
      cell: ({ id, status }) => (
        <>
          <Status of={status} /> <OpenJob of={id} />
        </>
      ),
    },
  ];
  return (
    <Screen title="Leaderboards" about="Who has most, in runs of days, months or years, or once.">
      <ResourceList
        noun="leaderboard"
        nameOf={({ name }) => name}
        query={leaderboardsQuery}
        columns={columns}
        fields={fields}
        create={(item) => admin.POST('/v1/leaderboards', { body: [item] })}
        update={(item) => admin.PATCH('/v1/leaderboards', { body: [item as Changed<'/v1/leaderboards'>] })}
        remove={(id) => admin.DELETE('/v1/leaderboards', { params: { query: { ids: [id] } } })}
        empty={
          <Empty
            title="No leaderboard yet"
            curl={curl('POST', '/v1/leaderboards', [
              { key: 'week', name: 'This week', rankBy: 'streak', status: 'active' },
            ])}
          >
            Create the first one here, or:
          </Empty>
        }
      />
    </Screen>
  );
}
