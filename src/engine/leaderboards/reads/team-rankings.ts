import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { TeamRankings } from '../../../domain/leaderboard.ts';
import { AppError } from '../../../errors.ts';
import { leaderboardResponse } from '../../responses/leaderboards.ts';
import type { KeptRuns } from '../kept-runs.ts';
import { memberPage, ranked } from '../standings.ts';
import { createKeptTeams, type TeamScore, teamScores, TeamStandings } from '../teams.ts';
import { type PageQuery, type RequestedRuns, boardRunOf, requireLimit, requireStart } from './requested-runs.ts';

type TeamQuery = Pick<PageQuery, 'offset' | 'limit' | 'run'> & { team?: string };

/** Ranks the teams of leaderboards. `reuses`: whether a ranking answers several calls. */
export function createTeamRankings(redis: Redis, past: KeptRuns, runs: RequestedRuns, reuses: boolean) {
  const keptTeams = createKeptTeams();

  /**
   * A page of the ranking of a board's teams. The run is the one that begins on the requested day, else the one of the UTC
   * date. Each process ranks the teams of a run at most a twentieth of the time, and many teams at most a hundredth, so an
   * answer may be as old as twenty rankings take, or some seconds (`createKeptTeams`); it costs its page. Throws 404 as
   * `rankings`; 422 for a board without teams, a day on which no run begins, or a negative offset without a team.
   */
  async function teams(
    compiled: CompiledCatalog,
    key: string,
    { offset, limit, run: runDate, team }: TeamQuery,
  ): Promise<TeamRankings> {
    const { board, status } = runs.find(compiled, key);
    const attribute = compiled.attributesById.get(board.teamAttributeId ?? '');
    if (attribute === undefined)
      throw new AppError('unprocessable', `The leaderboard '${key}' has no teams: it lacks a teamAttributeId.`);
    requireStart(offset, { team });
    requireLimit(limit);
    const run = runs.run(board, runDate, null);
    const boardRun = boardRunOf(compiled, { board, run });
    const isOver = runs.isOver(run);
    const read = async (): Promise<TeamScore[]> =>
      (isOver ? await past.teams(boardRun) : null) ?? teamScores(redis, board, boardRun);
    const rank = async (): Promise<TeamStandings> => TeamStandings.of(await read(), board);
    const { order, ties, teamsBy, teamMinMembers } = board;
    const name = JSON.stringify([boardRun, isOver, order, ties, teamsBy, teamMinMembers]);
    const standings = await (reuses ? keptTeams.of(name, rank) : rank());
    const { from, members } = await memberPage(standings, { offset, limit, userId: team });
    const page = await ranked(standings, members, { from, before: undefined });
    return {
      ...leaderboardResponse(compiled, board),
      status,
      teamAttribute: attribute.key,
      teamsBy: board.teamsBy ?? 'sum',
      teamMinMembers: board.teamMinMembers ?? 1,
      rankings: page.map(({ userId: name, rank, score }, at) => ({
        team: name,
        rank,
        value: score,
        members: standings.membersAt(from + at),
      })),
    };
  }

  return teams;
}
