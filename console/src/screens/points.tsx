import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { curl } from '../api/bodies.ts';
import { activityQuery, pointsQuery, type PointsSystem } from '../api/queries.ts';
import { editsOf, ResourceList } from '../resource/resource-list.tsx';
import { useForm } from '../resource/use-form.ts';
import { Badge } from '../ui/badge.tsx';
import { number } from '../ui/format.ts';
import { Code, Empty, Screen, Status } from '../ui/parts.tsx';
import { Daily, Figure } from '../ui/sparkline.tsx';
import type { Column } from '../ui/table-frame.tsx';

const columnsOf = (awarded: ReadonlyMap<string, readonly number[]> | undefined): readonly Column<PointsSystem>[] => [
  {
    id: 'name',
    header: 'Name',
    value: ({ name }) => name,
    cell: ({ id, name, badge }) => (
      <span className="flex items-center gap-2">
        <Badge url={badge?.url} />
        <Link to="/points/$id" params={{ id }} className="truncate font-medium text-accent hover:underline">
          {name}
        </Link>
      </span>
    ),
  },
  { id: 'key', folds: true, header: 'Key', value: ({ key }) => key, cell: ({ key }) => <Code>{key}</Code> },
  {
    id: 'maxPoints',
    folds: true,
    header: 'Maximum',
    align: 'right',
    cell: ({ maxPoints }) => (maxPoints === null ? '–' : number(maxPoints)),
  },
  {
    id: 'awarded',
    header: 'Awarded, 30 days',
    align: 'right',
    value: ({ id }) => sumOf(awarded?.get(id)) ?? 0,
    cell: ({ id }) => <Figure of={sumOf(awarded?.get(id))} />,
  },
  {
    id: 'days',
    folds: true,
    header: 'By day',
    cell: ({ id, name }) => <Daily label={`${name} awarded by day`} values={awarded?.get(id)} />,
  },
  { id: 'status', header: 'Status', cell: ({ status }) => <Status of={status} /> },
];

const sumOf = (values: readonly number[] | undefined): number | undefined =>
  values?.reduce((sum, value) => sum + value, 0);

export function Points() {
  // The activity has the points of each day; the list need not follow it live.
  const activity = useQuery({ ...activityQuery, refetchInterval: false }).data;
  const columns = useMemo(
    () => columnsOf(activity && new Map(activity.pointsSystems.map(({ id, awarded }) => [id, awarded]))),
    [activity],
  );
  return (
    <Screen
      title="Points"
      about="A points system has triggers that award points, levels, and boosts that multiply awards."
    >
      <ResourceList
        noun="points system"
        nameOf={({ name }) => name}
        query={pointsQuery}
        columns={columns}
        analysis={({ id }) => ({ view: 'points', id })}
        fields={useForm('points_system')}
        {...editsOf('/v1/points')}
        removal="Users’ points in it can no longer be read, awarded or spent, also if you create it again."
        empty={
          <Empty title="No points systems yet" curl={curl('POST', '/v1/points', [{ key: 'xp', name: 'Experience' }])}>
            Create one to award points, here or with:
          </Empty>
        }
      />
    </Screen>
  );
}
