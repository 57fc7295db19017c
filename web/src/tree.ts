// tree.ts -- a list of actors as the tree they are. Pure.

interface Member {
  name: string;
  parent: string | null;
}

export interface Placed<T> {
  actor: T;
  depth: number;
}

/// Each parent right before its children, which keep their order. Whose parent
/// is not there stands at the top; nobody is lost to a circle.
export function treeOf<T extends Member>(actors: readonly T[]): Placed<T>[] {
  const names = new Set(actors.map((x) => x.name));
  const children = new Map<string, T[]>();
  const roots: T[] = [];
  for (const actor of actors)
    if (actor.parent !== null && names.has(actor.parent)
        && actor.parent !== actor.name)
      children.set(actor.parent,
                   [...children.get(actor.parent) ?? [], actor]);
    else
      roots.push(actor);
  const result: Placed<T>[] = [];
  const placed = new Set<T>();
  const place = (actor: T, depth: number) => {
    if (placed.has(actor))
      return;
    placed.add(actor);
    result.push({ actor, depth });
    for (const child of children.get(actor.name) ?? [])
      place(child, depth + 1);
  };
  for (const actor of [...roots, ...actors])
    place(actor, 0);
  return result;
}
