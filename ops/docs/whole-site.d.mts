export function buildWholeSite(options: {
  specifications: Record<'application' | 'admin', object>;
  out: string;
}): number;
