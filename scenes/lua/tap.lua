-- A tap fills a basin with a hole.
size = size or 24
world {
    bounds = box(0, 0, 0, 2 * size, size, size),
    open = {"+x"},
    params = {gravity = 0.01},
    updates = 300,
    summary = "a tap over a basin",
}
build(box(size, 0, 0, size + 2, size // 2, size))
dig(box(size, 2, size // 2 - 1, size + 2, 4, size // 2 + 1))
fill(box(0, 0, 0, size, size // 3, size))
local tap = emitter(box(size // 2, size - 4, size // 2, size // 2 + 2, size - 2, size // 2 + 2), 4)
at(200, function() remove(tap) end)
every(100, function(update) print("update " .. update, string.format("%.2f", volume())) end)
probe("level", function() return surface(4, 4) end, "height of the water in the basin")
probe("out", function() return volume(box(size + 2, 0, 0, 2 * size, size, size)) end)
